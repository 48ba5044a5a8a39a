#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/gpu_report.sh BUILD
#
# What `make gpu-report` runs on a machine with a GPU: the tests and samples on it, the same under
# compute-sanitizer, and the benchmarks that need a GPU.  Exit status 0 if all of it passed, 1 if
# something failed, 2 if there is no GPU.

set -u
cd "$(dirname "$0")/.." || exit
build=$(cd "$1" && pwd) || exit
failed=0

PATH=$PATH:${CUDA_PATH:-/usr/local/cuda}/bin # compute-sanitizer

if ! nvidia-smi -L 2>/dev/null; then
	echo 'gpu-report: no GPU here (nvidia-smi finds none); nothing was run' >&2
	exit 2
fi

# step NAME COMMAND...
step() {
	name=$1
	shift
	echo "==== $name"
	if "$@"; then
		echo "PASS: $name"
	else
		echo "FAIL: $name"
		failed=1
	fi
}

# sanitize TOOL PROGRAM: a finding is a failure.
# shellcheck disable=SC2317 # called by step
sanitize() {
	compute-sanitizer --tool "$1" --error-exitcode 1 --target-processes all "$2"
}

# shellcheck disable=SC2317 # called by step
on_gpu() {
	KUDZU_DEVICE=cuda:0 "$@"
}

step doctor "$build/kudzu" doctor
step tests "$build/check_kudzu"
for source in samples/*.c; do
	sample=$build/${source%.c}
	step "$source" on_gpu "$sample"
	for tool in memcheck racecheck initcheck synccheck; do
		step "$tool $source" on_gpu sanitize $tool "$sample"
	done
done
# In one process, and without the tests that make a kernel fail on purpose.
export CK_FORK=no CK_EXCLUDE_TAGS=fault
step 'memcheck tests' sanitize memcheck "$build/check_kudzu"
step benchmarks bench/run.sh "$build" gpu
exit $failed
