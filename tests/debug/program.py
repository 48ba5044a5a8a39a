# SPDX-License-Identifier: MIT
# A program of the driver API, whose PTX has lines alone.
from expect import *

run("break -qualified add")
run("run")
is_at("add", line_of("int i = blockIdx"), "kudzu_launch")
value("threadIdx", "{x = 0, y = 0, z = 0}")
run("next")
run("next")
is_at("add", line_of("sum[i] ="))
says("info locals", "threadIdx")
says("print n", "No symbol")
end()
