# SPDX-License-Identifier: MIT
# A fault stops where it happens.
from expect import *

run("run")
is_at("put", line_of("// put"), "fault", "kudzu_launch")
value("$_siginfo.si_signo", "11")
value("where", "(float *) 0x0")
value("i", "5")
run("up")
is_at("fault", line_of("// call"))
value("t", "5")
end()
