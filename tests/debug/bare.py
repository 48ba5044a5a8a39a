# SPDX-License-Identifier: MIT
# PTX without line information: a kernel has its name.
from expect import *

run("break -qualified add")
run("run")
if gdb.selected_frame().name() != "add":
    complain("expected to be in add, is in %s" % gdb.selected_frame().name())
value("blockIdx.x", "0")
says("next", "kernel 'add' has no line information", "-lineinfo")
end()
