# SPDX-License-Identifier: MIT
# Watchpoints: of a variable, until its thread ends, and of memory.
from expect import *

run("break watched")
run("run")
run("next")
run("watch sum")
run("continue")
value("sum", "1")
run("continue")
value("sum", "3")
value("i", "2")
run("delete")
run("watch -l out[2]")
run("continue")
value("out[2]", "3")
run("continue")
value("out[2]", "13")
value("threadIdx.x", "1")
value("i", "2")
end()
