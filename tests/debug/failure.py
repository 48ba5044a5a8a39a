# SPDX-License-Identifier: MIT
# A failed assertion stops in the kernel; so does what a check finds.
from expect import *

run("run")
is_at("failure", line_of("// assert"), "kudzu_launch")
value("t", "3")
end()
