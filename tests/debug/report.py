# SPDX-License-Identifier: MIT
# What a check finds stops in the kernel, with its words, and once, however many threads there are.
from expect import *

says("run", "kudzu: use of 4 bytes at address 0x")
is_at("report", line_of("// init"), "kudzu_launch")
value("t", "0")
run("continue")
if gdb.selected_inferior().pid:
    complain("it has stopped again")
end()
