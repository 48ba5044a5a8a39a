# SPDX-License-Identifier: MIT
# A failed assertion stops in the kernel.
from expect import *

run("run")
is_at("failure", line_of("// assert"), "kudzu_launch")
value("t", "3")
end()
