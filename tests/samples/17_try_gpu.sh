#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 17_try_gpu.sh PROGRAM
#
# With two CPU devices for GPUs it says what the course's notebook says on two GPUs.

set -e
log=$(mktemp)
trap 'rm "$log"' EXIT
KUDZU_CPU_DEVICES=3 KUDZU_CPU_AS_GPU=1 "$1" 2>"$log" | diff -u tests/samples/17_try_gpu.out -
diff -u - "$log" <<'END'
num_gpus(): 2
try_gpu(10): cpu
try_all_gpus(): cuda:0 cuda:1
X is on cuda:0
Y is on cuda:1
kz_add: Tensor in cuda:0 cannot add with tensor in cuda:1
Z is on cuda:1
Y + Z is on cuda:1
net(X) is on cuda:0
net[0].weight is on cuda:0
END
