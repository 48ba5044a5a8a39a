#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 17_try_gpu.sh PROGRAM
#
# With two CPU devices for GPUs it prints what the course's notebook prints on two GPUs, but for the
# random numbers; without a GPU it prints the same tensors.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cat >"$folder/expected" <<'END'
(device(type='cpu'),
 device(type='cuda', index=0),
 device(type='cuda', index=1))
2
(device(type='cuda', index=0),
 device(type='cpu'),
 [device(type='cuda', index=0), device(type='cuda', index=1)])
tensor([[1., 1., 1.],
        [1., 1., 1.]], device='cuda:0')
tensor([[0.9546, 0.7502, 0.1142],
        [0.0857, 0.4070, 0.7953]], device='cuda:1')
Tensor in cuda:0 cannot add with tensor in cuda:1
tensor([[1., 1., 1.],
        [1., 1., 1.]], device='cuda:0')
tensor([[1., 1., 1.],
        [1., 1., 1.]], device='cuda:1')
tensor([[1.9546, 1.7502, 1.1142],
        [1.0857, 1.4070, 1.7953]], device='cuda:1')
True
Sequential(
  (0): LazyLinear(in_features=0, out_features=1, bias=True)
)
tensor([[0.1034],
        [0.1034]], device='cuda:0')
Sequential(
  (0): Linear(in_features=3, out_features=1, bias=True)
)
device(type='cuda', index=0)
END
KUDZU_CPU_DEVICES=3 KUDZU_CPU_AS_GPU=1 "$1" >"$folder/two" 2>"$folder/log"
diff -u "$folder/expected" "$folder/two"
grep -q '^kudzu: kz_add: Tensor in cuda:0 cannot add with tensor in cuda:1$' "$folder/log"

# On one device X and Y can be added, and so are not reported.
tensors() { # FILE
	sed -n "/^tensor/,\$ { s/, device='[^']*'//; /^device/d; /^Tensor in/d; p }" "$1"
}
"$1" >"$folder/here" 2>"$folder/log"
tensors "$folder/expected" >"$folder/expected_here"
tensors "$folder/here" | diff -u "$folder/expected_here" -
KUDZU_CUDA_DRIVER=/nowhere KUDZU_CPU_AS_GPU=0 "$1" >"$folder/none" 2>"$folder/log"
sed -n 4,7p "$folder/none" | diff - /dev/fd/3 3<<'END'
0
(device(type='cpu'),
 device(type='cpu'),
 [device(type='cpu')])
END
