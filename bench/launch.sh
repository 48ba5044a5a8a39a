#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/launch.sh BUILD
#
# Instructions for one checked launch of six arguments on the stub driver, and for the bare driver
# call.  Each is counted by callgrind at two loop counts; the difference leaves out everything that
# happens once.

set -eu
build=$1
count=10000

export KUDZU_CUDA_DRIVER="$build/libcuda-stub.so"

# instructions IMPLEMENTATION COUNT
instructions() {
	report=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
		"$build/bench/bench_launch" "$1" "$2" 2>&1) ||
		{ echo "$report" >&2; exit 1; }
	echo "$report" | sed -n 's/.*Collected *: *//p'
}

# per_launch IMPLEMENTATION
per_launch() {
	once=$(instructions "$1" $count)
	twice=$(instructions "$1" $((2 * count)))
	echo $(((twice - once) / count))
}

report() {
	echo "{\"case\":\"launch\",\"what\":\"$1\",\"unit\":\"instructions\",\"value\":$2}"
}

kudzu=$(per_launch kudzu)
bare=$(per_launch bare)
report kudzu "$kudzu"
report bare "$bare"
report 'kudzu - bare' $((kudzu - bare))
