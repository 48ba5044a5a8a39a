# SPDX-License-Identifier: MIT
# Shared, constant and global variables; threads that wait at a barrier.
from expect import *

stop_at("// after", "if threadIdx.x == 2")
run("run")
is_at("turn", line_of("// after"))
value("tile", "{0, 10, 20, 30}")
value("extra[3]", "3")
value("extra[0]@4", "{0, 1, 2, 3}")
value("table", "{0.5, 1.5}")
value("counter", "2")
value("before", "102")
run("next")
value("other", "10")
run("watch -l counter")
run("continue")
value("counter", "3")
value("threadIdx.x", "2")
end()
