#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tests/samples/10_reload.sh PROGRAM
#
# Edit the file under the program: it follows, keeps the old kernel where an edit does not compile,
# and ends when the file is gone.

set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

edit() { # BODY: a file that appears whole
	printf '__global__ void f(float *x) { x[threadIdx.x] %s; }\n' "$1" >"$folder/new"
	mv "$folder/new" "$folder/f.cu"
}
expect() { # LINE: within 30 s
	for _ in $(seq 600); do
		! grep -q -x "$1" "$folder/out" || return 0
		sleep 0.05
	done
	echo "expected '$1', got:"
	cat "$folder/out"
	kill "$program"
	exit 1
}

: >"$folder/out"
edit '+= 1'
"$1" "$folder/f.cu" >"$folder/out" &
program=$!
expect 'f = 2 3 4 5'
edit '+= 1 +'
expect 'line 1: .*; the old kernel stays'
edit '-= 1'
expect 'f = 0 1 2 3'
rm "$folder/f.cu"
wait "$program"
[ "$(grep -c 'f = 2 3 4 5' "$folder/out")" = 2 ]
