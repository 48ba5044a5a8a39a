#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: bench/gpu_report.sh BUILD [FOLDER]
#
# What `make gpu-report` runs on a machine with a GPU: the tests of the library that a GPU can
# change, what tests of the CPU device NVIDIA's driver can run, the samples, the samples and some
# suites under the tools of compute-sanitizer; and last, alone, the benchmarks that need a GPU.  It
# compiles nothing and needs no make, so BUILD and the sources may have been carried here from
# another machine.
#
# The tests take at most TEST_SECONDS, by default 360, and all takes at most ALL_SECONDS, by default
# 570.  What these limits cut off is listed.  A context takes longer to make than most tests do, so
# the tests of a suite share a process.  A suite that fails so runs again with a process for each
# test, and that counts.  Tests run in their brief form; KUDZU_TEST_SLOW=1 with larger limits gives
# the long one.
#
# What a step printed is in FOLDER (by default BUILD/gpu-report), the figures in bench.ndjson there.
# ONLY='^driver|^sample 0' are the steps to take, by kind and name; BENCH=0 leaves the benchmarks
# out.  Exit status 0 if all of it passed, 1 if something failed or was cut off, 2 if there is no
# GPU.

set -u

# Suites of which several tests need a process of their own, as they begin with other variables or
# the stub.
apart='image_link device memory leaks stream copy_3d npz transfer access allocator attribute growable ipc managed
	peer pinned stream_options trace value view_random load warm live threads forks libraries cufft_calls slice
	reshape elementwise_errors diagnose compile describe comm comm_errors'
# Those that compile most kernels begin first.
long='elementwise custom fft integrate matmul search select sort textures'
# Those for compute-sanitizer, which is slow to start.
checked='array create view join elementwise ops eval indexing scan transpose custom custom_reduction'

# Collectives between GPUs, where there are two.
export KUDZU_TEST_COMM=cuda

# limited SECONDS COMMAND...: at most so long, and not beyond the end of the tests.
limited() {
	local left=$((test_end - $(date +%s)))
	[ "$1" -lt "$left" ] && left=$1
	shift
	[ "$left" -gt 0 ] && timeout -k 5 "$left" "$@"
}

# sanitize SECONDS TOOL COMMAND...: a finding is a failure.
sanitize() {
	local limit=$1 tool=$2
	shift 2
	limited "$limit" compute-sanitizer --tool "$tool" --error-exitcode 1 --target-processes all "$@"
}

# suite RUNNER NAME: its tests share a process, but for those that lose the device.
suite() {
	CK_FORK=no CK_EXCLUDE_TAGS=fault CK_RUN_SUITE=$2 limited 240 "$build/$1"
	local status=$?
	[ $status != 0 ] && [ $status != 124 ] || return $status # with more processes it would take longer still
	echo 'again, with a process for each test'
	CK_EXCLUDE_TAGS=fault CK_RUN_SUITE=$2 limited 240 "$build/$1"
}

# run KIND NAME: one step.
run() {
	case $1 in
	library) suite check_kudzu "$2" ;;
	driver) suite check_driver "$2" ;;
	apart) CK_RUN_SUITE=$2 limited 240 "$build/check_kudzu" ;;
	own) KUDZU_CUFFT=none suite check_kudzu "$2" ;;
	fault) CK_INCLUDE_TAGS=fault CK_RUN_SUITE=$2 limited 120 "$build/check_kudzu" ;;
	program) limited 60 "$build/tests/dropin/$2" tests/dropin/kernels.ptx ;;
	sample) limited 60 .ci/check-sample "$2" "$build/samples/$2" ;;
	suite) # what the driver refuses is no finding, nor are the kernels that fail on purpose
		CK_RUN_SUITE="$2" CK_FORK=no CK_EXCLUDE_TAGS=fault \
			sanitize 120 memcheck --report-api-errors no "$build/check_kudzu"
		;;
	*) sanitize 60 "$1" "$build/samples/$2" ;;
	esac
}

# step KIND NAME: PASS, FAIL or CUT, how long it took, and what Check has counted in its last run.
step() {
	local log=$logs/$1-$2.txt from result=FAIL counts
	from=$(date +%s)
	if run "$1" "$2" >"$log" 2>&1 </dev/null; then
		result=PASS
	elif [ "$(date +%s)" -ge "$test_end" ]; then
		result=CUT
	fi
	counts=$(grep -o '^[0-9]*%: Checks: .*' "$log" | tail -n 1)
	echo "$result: $1 $2, $(($(date +%s) - from)) s${counts:+, $counts}"
}

# The kinds and names of all steps, those that tell most first.
steps() {
	local source sample
	# shellcheck disable=SC2086 # lists of words
	{
		printf 'library %s\n' $long
		printf 'apart %s\n' $apart
		echo fault kernel
		grep '^library ' "$build/suites" | grep -vxF "$(printf 'library %s\n' $apart $long)"
		echo own fft # which else is cuFFT's
		for source in samples/*.c; do
			echo "sample $(basename "$source" .c)"
		done
		printf 'program %s\n' vectoradd matmul link query
		grep '^driver ' "$build/suites"
		printf 'suite %s\n' $checked
	}
	for source in samples/*.c; do
		sample=$(basename "$source" .c)
		[ "$sample" = 12_compile ] || # it uses no device
			printf "%s $sample\n" memcheck racecheck initcheck synccheck
	done
}

if [ "$1" = --step ]; then
	step "$2" "$3"
	exit 0
fi

cd "$(dirname "$0")/.." || exit
began=$(date +%s)
build=$(cd "$1" && pwd) || exit
logs=${2:-$build/gpu-report}
mkdir -p "$logs" && logs=$(cd "$logs" && pwd) || exit
rm -f "$logs"/*.txt "$logs/bench.ndjson"
if ! nvidia-smi -L 2>/dev/null; then
	echo 'gpu-report: no GPU here (nvidia-smi finds none); nothing was run' >&2
	exit 2
fi

test_end=$((began + ${TEST_SECONDS:-360}))
bench_end=$((began + ${ALL_SECONDS:-570}))
export build logs test_end bench_end PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin" # compute-sanitizer
export KUDZU_TEST_DEVICES="${KUDZU_TEST_DEVICES:-cuda}" CK_DEFAULT_TIMEOUT=60
export KUDZU_CACHE=1 KUDZU_CACHE_DIR="$logs/cache" # steps compile the same
[ -n "${KUDZU_TEST_SLOW-}" ] || export KUDZU_TEST_BRIEF=1
"$build/kudzu" doctor | tee "$logs/doctor.txt"
(
	export KUDZU_DEVICE="${KUDZU_DEVICE:-cuda:0}"
	steps | grep -E "${ONLY:-.}" |
		xargs -P "$(nproc)" -L 1 bench/gpu_report.sh --step >"$logs/steps.txt" 2>&1
)
sort "$logs/steps.txt"
echo "tests: $(($(date +%s) - began)) s"

# Check's counts stand for its runs, unless one failed for another reason, or did not end.
failed=0
{
	sed -n 's/^[PF].*, \([0-9]*%: Checks\)/\1/p' "$logs/steps.txt"
	grep -v -e ', [0-9]*%: Checks' -e '^CUT' "$logs/steps.txt"
	grep '^FAIL: .* 100%: Checks' "$logs/steps.txt"
} >"$logs/counts.txt"
.ci/totals "$logs/counts.txt" || failed=1
if [ "${BENCH:-1}" != 0 ]; then
	KUDZU_CACHE=0 BENCH_END=$bench_end bench/run.sh "$build" gpu >"$logs/bench.ndjson" 2>"$logs/bench.txt" || failed=1
	bench/table.sh "$logs/bench.ndjson"
	cat "$logs/bench.txt"
fi
if cat "$logs"/steps.txt "$logs"/bench.txt 2>/dev/null | grep -e '^CUT: ' -e '^cut off: ' >"$logs/cut.txt"; then
	echo 'cut off by the limits of time:'
	sed -e 's/^CUT: \([^,]*\).*/  \1/' -e 's/^cut off: /  benchmark /' "$logs/cut.txt"
	failed=1
fi
echo "all: $(($(date +%s) - began)) s"
exit $failed
