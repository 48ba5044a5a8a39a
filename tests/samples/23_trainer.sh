#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: 23_trainer.sh PROGRAM
#
# The trainer takes the model and its batches to the first of two GPUs, and leaves them on the CPU
# where there is none; the losses are those that the course printed.

set -e
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
KUDZU_CPU_DEVICES=3 KUDZU_CPU_AS_GPU=1 "$1" --plot "$folder/board.svg" >"$folder/two" 2>"$folder/log" ||
	{ cat "$folder/log"; exit 1; }
tests/samples/check_picture.sh "$folder/board.svg" 100
tests/samples/check_losses.sh "$folder/two"
sed '/^epoch:/d' "$folder/two" | diff -u /dev/fd/3 - 3<<'END'
0
0
512
Model(
  (fc1): Linear(in_features=4, out_features=8, bias=True)
  (fc2): Linear(in_features=8, out_features=9, bias=True)
  (out): Linear(in_features=9, out_features=3, bias=True)
)
False
True
losses of the graph that are those of the loop: 100 of 100
right: 30 of 30 held-out rows
END
[ "$(grep -c '^TOTAL TRAINING TIME: ' "$folder/log")" = 3 ] || { cat "$folder/log"; exit 1; }

KUDZU_CUDA_DRIVER=/nowhere KUDZU_CPU_AS_GPU=0 "$1" >"$folder/none" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
sed 's/^True$/False/' "$folder/two" | diff -u - "$folder/none"
