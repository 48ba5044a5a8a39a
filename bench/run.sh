#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/run.sh BUILD [GPU]
#
# Run the benchmarks that need no GPU, or, with a second argument, those that do.  The output is
# one JSON object a line, the machine first; bench/results/ keeps it by date.

set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)

printf '{"case":"machine","date":"%s","version":"%s","cpu":"%s","cores":%s}\n' \
	"$(date -u +%Y-%m-%d)" "$("$build/kudzu" --version)" "$cpu" "$(nproc)"

if [ $# -gt 1 ]; then
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 |
		sed 's/\(.*\), \(.*\)/{"case":"machine","gpu":"\1","driver":"\2"}/'
	"$build/bench/bench_launch" pairs
	KUDZU_DEVICE=cuda "$build/bench/bench_pool" times
	"$build/bench/bench_compile" cuda
	"$build/bench/bench_cold" cuda
	"$build/bench/bench_modules" cuda
	"$build/bench/bench_array" cuda
else
	bench/launch.sh "$build"
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_launch" pairs
	KUDZU_DEVICE=cuda KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_pool" times
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_compile" cuda
	"$build/bench/bench_hits"
	"$build/bench/bench_link"
	"$build/bench/bench_cold" cpu
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_modules" cuda
	KUDZU_CACHE=0 "$build/bench/bench_modules" cpu
	"$build/bench/bench_warm"
	"$build/bench/bench_cache"
	"$build/bench/bench_cache" many
	"$build/bench/bench_array" cpu 1
	[ "$(nproc)" = 1 ] || "$build/bench/bench_array" cpu
	if python3 -c 'import numpy' 2>/dev/null; then
		OPENBLAS_NUM_THREADS=1 python3 bench/array_numpy.py
	fi
fi
