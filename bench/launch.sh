#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/launch.sh BUILD
#
# Instructions for one checked launch of six arguments on the stub driver, for the bare driver call,
# and for a buffer that is created from the pool and released.  Each is counted by callgrind at two
# loop counts; the difference leaves out everything that happens once.

set -eu
build=$1
count=10000

export KUDZU_CUDA_DRIVER="$build/libcuda-stub.so"

# instructions PROGRAM ARGUMENT...
instructions() {
	program=$1
	shift
	report=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$build/bench/$program" "$@" 2>&1) ||
		{ echo "$report" >&2; exit 1; }
	echo "$report" | sed -n 's/.*Collected *: *//p'
}

# each PROGRAM ARGUMENT...: the last argument of the program is a count
each() {
	once=$(instructions "$@" $count)
	twice=$(instructions "$@" $((2 * count)))
	echo $(((twice - once) / count))
}

# report CASE WHAT VALUE
report() {
	echo "{\"case\":\"$1\",\"what\":\"$2\",\"unit\":\"instructions\",\"value\":$3}"
}

kudzu=$(each bench_launch kudzu)
bare=$(each bench_launch bare)
report launch kudzu "$kudzu"
report launch bare "$bare"
report launch 'kudzu - bare' $((kudzu - bare))
pool=$(KUDZU_DEVICE=cuda each bench_pool)
report pool 'alloc+free' "$pool"
