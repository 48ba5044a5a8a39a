# SPDX-License-Identifier: MIT
#
# What gdb needs to know of kernels on Kudzu's CPU device.  `kudzu debug` has gdb read this file, and
# `kudzu debug --script` prints it, for other programs that run gdb.

import gdb


def kudzu_check_gdb():
    """Inlined functions, of which kernels are full, have ranges of addresses since gdb 10."""
    digits = "".join(c if c.isdigit() else " " for c in gdb.VERSION).split()
    if digits and int(digits[0]) < 10:
        raise gdb.GdbError("kudzu debug: gdb %s is too old; expected 10 or newer" % gdb.VERSION)


kudzu_check_gdb()
# A kernel is compiled when the program is running.
gdb.execute("set breakpoint pending on")
