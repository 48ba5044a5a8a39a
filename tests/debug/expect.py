# SPDX-License-Identifier: MIT
#
# For the cases of tests/debug/check, which gdb runs: commands, and what they have to say.

import gdb
import os
import re

failed = []


def run(command):
    return gdb.execute(command, to_string=True)


def complain(what):
    failed.append(what)
    print("FAILED: " + what)


def says(command, *texts):
    """The output of a command has these texts, one after the other."""
    try:
        output = run(command)
    except gdb.error as error:
        output = "error: %s" % error
    at = 0
    for text in texts:
        at = output.find(text, at)
        if at < 0:
            complain("%s: expected '%s' in:\n%s" % (command, text, output))
            return
        at += len(text)


def value(expression, expected):
    """What an expression is, as gdb prints it."""
    try:
        got = re.sub(r"^\$\d+ = ", "", run("print " + expression)).strip()
    except gdb.error as error:
        got = "error: %s" % error
    if got != expected:
        complain("%s: expected %s, got %s" % (expression, expected, got))


def is_at(function, line, *outer):
    """Where the program stands: functions from the innermost on, and the line of the first."""
    frame = gdb.selected_frame()
    if frame.name() != function or frame.find_sal().line != line:
        complain("expected to be at %s:%d, is at %s:%d"
                 % (function, line, frame.name(), frame.find_sal().line))
    for name in outer:
        frame = frame.older()
        if frame.name() != name:
            complain("expected to be called by %s, is called by %s" % (name, frame.name()))


def line_of(mark):
    """The line of the kernel's file that has this text."""
    with open(os.environ["KERNEL"]) as source:
        for number, text in enumerate(source, 1):
            if mark in text:
                return number
    raise gdb.GdbError("there is no '%s' in %s" % (mark, os.environ["KERNEL"]))


def stop_at(mark, condition=""):
    run("break %s:%d %s" % (os.path.basename(os.environ["KERNEL"]), line_of(mark), condition))


def end():
    if gdb.selected_inferior().pid:
        gdb.execute("kill", to_string=True)
    if not failed:
        print("as expected")
