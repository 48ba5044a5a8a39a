#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/run.sh BUILD [cpu | rest | peers | gpu]
#
# Run the benchmarks.  `cpu` times kernels and launches on the CPU device, in minutes.  `rest` runs
# what else needs no GPU, `gpu` what needs one.  Without a name `cpu` and `rest` run.  Both `rest`
# and `gpu` include `peers`, which by itself is for the CPU device.  The output is one JSON object a
# line, the machine first.  bench/results keeps it by date; bench/table.sh makes tables of it.
#
# PEERS_PYTHON is the Python that has PyCUDA, cuda.core and CuPy: by default that of `make
# setup-peers`, else python3.  A kernel's time on one thread is wall time.  BENCH_CPU=-p takes
# processor time, for a machine with other work.

set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
what=${2:-all}

# version NAME COMMAND...: a member of the machine's line, if there is such a thing
version() {
	name=$1
	shift
	if found=$("$@" 2>/dev/null); then
		printf ',"%s":"%s"' "$name" "$found"
	fi
}

# processor FIELD: what Linux says of the first processor.
processor() {
	sed -n "s/^$1[[:blank:]]*: //p" /proc/cpuinfo | head -n 1
}

machine() {
	printf '{"case":"machine","date":"%s","version":"%s","cpu":"%s","cores":%s' \
		"$(date -u +%Y-%m-%d)" "$("$build/kudzu" --version)" "$(processor 'model name')" "$(nproc)"
	version family processor 'cpu family'
	version model processor model
	version gcc gcc -dumpfullversion
	version llvm "$(.ci/find-llvm)" --version
	# shellcheck disable=SC2016 # dpkg's dollar
	version pocl dpkg-query -W -f '${source:Upstream-Version}' pocl-opencl-icd
	echo '}'
}

cpu() {
	# shellcheck disable=SC2086 # options, or nothing
	"$build/bench/bench_cpu" ${BENCH_CPU:-}
	"$build/bench/bench_latency"
	bench/launch.sh "$build"
	"$build/bench/bench_cold" cpu
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_compile" cuda
	"$build/bench/bench_nvcc"
	KUDZU_CACHE=0 "$build/bench/bench_modules" cpu
}

# peers [DEVICE]: beside PyCUDA and others, where they are installed; PyCUDA needs nvcc.
peers() (
	python=build/peers/bin/python3
	[ -x $python ] || python=python3
	export PEERS_PYTHON="${PEERS_PYTHON:-$python}" PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin"
	"$build/bench/bench_peers" "${1:-cpu}"
)

rest() {
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_launch" pairs
	KUDZU_DEVICE=cuda KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_pool" times
	"$build/bench/bench_math"
	"$build/bench/bench_matmul"
	"$build/bench/bench_solve"
	"$build/bench/bench_solve" inv 5000
	"$build/bench/bench_jit"
	"$build/bench/bench_hits"
	"$build/bench/bench_link"
	KUDZU_CUDA_DRIVER="$build/libcuda-stub.so" "$build/bench/bench_modules" cuda
	"$build/bench/bench_warm"
	"$build/bench/bench_cache"
	"$build/bench/bench_cache" many
	peers cpu
	echo '{"case":"machine","threads":1}'
	"$build/bench/bench_array" cpu 1
	if [ "$(nproc)" != 1 ]; then
		echo "{\"case\":\"machine\",\"threads\":$(nproc)}"
		"$build/bench/bench_array" cpu
	fi
	if python3 -c 'import numpy' 2>/dev/null; then
		echo '{"case":"machine","threads":1,"what":"numpy"}'
		OPENBLAS_NUM_THREADS=1 python3 bench/array_python.py numpy
		"$build/bench/bench_numpy"
		python3 bench/linalg_python.py
		KUDZU_CPU_THREADS=1 python3 bench/order_python.py "$build"
		[ "$(nproc)" = 1 ] || python3 bench/order_python.py "$build"
	fi
	if python3 -c 'import scipy' 2>/dev/null; then
		python3 bench/sparse_python.py "$build"
		python3 bench/fft_python.py "$build" 1
		[ "$(nproc)" = 1 ] || python3 bench/fft_python.py "$build" 2
	fi
}

# iris: the sample's own time for 100 epochs, warm, of 11 runs.
iris() {
	for _ in 1 2 3 4 5 6 7 8 9 10 11; do
		KUDZU_DEVICE=cuda "$build/samples/16_iris" 2>&1 >/dev/null |
			sed -n 's/^cuda.*, warm: \(.*\) ms$/\1/p'
	done | sort -n | awk '{ ms[NR] = $1 }
		END { if (NR == 11) printf "{\"case\":\"iris: 100 epochs, warm\",\"what\":\"kudzu\"," \
			"\"unit\":\"ms\",\"median\":%s,\"low\":%s,\"high\":%s,\"rounds\":11}\n", ms[6], ms[2], ms[10] }'
}

# cufft: our kernels beside cuFFT, then kz_fft as it is, where kudzu doctor finds the library.
cufft() {
	library=$("$build/kudzu" doctor | sed -n 's/^ok  cufft  *[^,]*, \(.*\)/\1/p')
	if [ -n "$library" ]; then
		KUDZU_CUFFT=none "$build/bench/bench_cufft" "$library"
		"$build/bench/bench_cufft" "$library"
	fi
}

# part NAME COMMAND...: a benchmark of `gpu`.  What BENCH_END, in seconds of `date +%s`, cuts off is
# named on standard error; what it printed until then stays.
part() {
	name=$1
	shift
	left=$((${BENCH_END:-9999999999} - $(date +%s)))
	if [ $left -le 0 ]; then
		echo "cut off: $name, not begun" >&2
		failed=1
		return
	fi
	st=0
	timeout -k 5 $left "$@" || st=$?
	if [ $st = 124 ] || [ $st = 137 ]; then
		echo "cut off: $name, within" >&2
		failed=1
	elif [ $st != 0 ]; then
		echo "FAIL: $name: exit status $st" >&2
		failed=1
	fi
}

# What tells most comes first: launches, arrays, libraries.  The functions of this file are parts in
# a shell of their own.
gpu() {
	export CUDA_CACHE_DISABLE=1 # NVIDIA's, which NVRTC has too: what compiles shall compile
	nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1 |
		sed 's/\(.*\), \(.*\)/{"case":"machine","gpu":"\1","driver":"\2"}/'
	failed=0
	part launch "$build/bench/bench_launch" pairs
	part cold "$build/bench/bench_cold" cuda
	part pool env KUDZU_DEVICE=cuda "$build/bench/bench_pool" times
	part compile "$build/bench/bench_compile" cuda
	part array "$build/bench/bench_array" cuda
	part cublas "$build/bench/bench_cublas"
	part cufft bench/run.sh "$build" cufft
	part reduce "$build/bench/bench_reduce" cuda
	part modules "$build/bench/bench_modules" cuda
	part iris bench/run.sh "$build" iris
	if [ "$(nvidia-smi --list-gpus | wc -l)" -gt 1 ]; then
		part comm "$build/bench/bench_comm"
		part comm-nccl "$build/bench/bench_comm" nccl
	fi
	if python3 -c 'import cupy' 2>/dev/null; then
		part array-cupy env CUPY_CACHE_IN_MEMORY=1 python3 bench/array_python.py cupy
		part cupy env KUDZU_DEVICE=cuda:0 python3 bench/cupy_python.py "$build"
	fi
	part peers bench/run.sh "$build" peers cuda
	if python3 -c 'import torch' 2>/dev/null; then
		part iris-torch python3 bench/iris_python.py cuda
	fi
	return $failed
}

case $what in
iris | cufft) # parts of `gpu`
	$what
	;;
peers)
	[ "${3:-cpu}" != cpu ] || machine
	peers "${3:-cpu}"
	;;
cpu | rest | gpu)
	machine
	$what
	;;
*)
	machine
	cpu
	rest
	;;
esac
