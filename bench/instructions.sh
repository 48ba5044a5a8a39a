#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/instructions.sh BUILD [--update]
#
# Compare the instructions that our own libraries execute for the calls of bench_host.c with those
# in bench/baselines/instructions.txt.  A call that takes over 10 % more fails.  For one that takes
# over 10 % less the script asks for a new baseline, which --update writes.
#
# Only code of libkudzu.so and libkudzu-cpu.so counts, not the C library, compiled kernels or the
# driver below.  So the counts depend only on the sources and the compiler.  The baseline names its
# compiler; the build of another one is not compared.  The build must be of MODE=release.

set -eu
build=$1
update=${2-}
baseline=bench/baselines/instructions.txt
compiler=$(readelf -p .comment "$build/libkudzu.so" | sed -n 's/^ *\[.*\]  *//p' | paste -sd ';')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export KUDZU_CPU_THREADS=1 KUDZU_CPU_FEATURES=sse2 KUDZU_CPU_TIER=2 KUDZU_CUDA_DRIVER="$build/libcuda-stub.so"

if [ -z "$update" ] && [ "$(sed -n 's/^# compiler: //p' $baseline)" != "$compiler" ]; then
	echo "bench/instructions.sh: no baseline for $compiler"
	exit 0
fi

# Each part of callgrind's output has one function count_NAME, and what was executed in it.
sum_of_part() {
	awk -v device="$1" '
		/^ob=/ { counts = /\/libkudzu(-cpu)?\.so/ }
		/^fn=count_/ { name = substr($0, 10) }
		/^calls=/ { getline; next }
		/^[0-9+*-]/ { if (counts) { sum += $2 } }
		END { if (name) { printf "%s %s %d\n", device, name, sum / 100 } }
	' "$2"
}

for device in cuda cpu; do
	# What is compiled now is in the cache afterwards.
	"$build/bench/bench_host" $device
	valgrind --tool=callgrind --compress-strings=no --compress-pos=no --dump-before=end_case \
		--toggle-collect='count_*' --callgrind-out-file="$work/$device" \
		"$build/bench/bench_host" $device >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
	part=1
	while [ -e "$work/$device.$part" ]; do
		sum_of_part $device "$work/$device.$part"
		part=$((part + 1))
	done
done >"$work/now"

if [ -n "$update" ]; then
	mkdir -p bench/baselines
	{
		echo "# Instructions of our own code for one call; bench/instructions.sh --update writes this."
		echo "# compiler: $compiler"
		cat "$work/now"
	} >$baseline
	exit 0
fi

awk '
	/^#/ { next }
	FNR == NR { was[$1 " " $2] = $3; next }
	{
		key = $1 " " $2
		seen[key] = 1
		note = !(key in was) ? "  new: run bench/instructions.sh --update" \
			: $3 > was[key] * 1.1 + 1 ? "  WORSE" \
			: $3 < was[key] * 0.9 - 1 ? "  better: run bench/instructions.sh --update" : ""
		printf "%-24s %8d %8d%s\n", key, was[key], $3, note
		bad += note ~ /WORSE|new/
	}
	END {
		for (key in was) {
			if (!(key in seen)) {
				print key " is gone"
				bad++
			}
		}
		exit bad > 0
	}
' $baseline "$work/now"
