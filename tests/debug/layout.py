# SPDX-License-Identifier: MIT
# Types: structures with pointers to themselves, unions, enumerations, arrays, vectors, numbers.
from expect import *

stop_at("// store")
run("run")
value("a.key", "3")
value("a.color", "GREEN")
value("a.value.f", "2")
value("*a.next", "{key = 7, value = {f = 1, bits = 1065353216}, color = BLUE, next = 0x0, "
      "grid = {{1, 2, 3}, {4, 5, 6}}}")
value("a.next->grid[1][2]", "6")
value("vector", "{x = 1, y = 2, z = 3, w = 4}")
value("row", "{{1, 2}, {3, 4}}")
value("letter", "107 'k'")
value("small", "-3")
value("big", "1099511627776")
value("real", "2.5")
value("*p", "6")
value("sizeof(struct node)", "72")
says("ptype x", "type = float *")
end()
