#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/gpu_report.sh BUILD [FOLDER]
#
# What `make gpu-report` runs on a machine with a GPU: the tests of the library and the samples; what
# tests of the CPU device NVIDIA's driver can run; the samples under each tool of compute-sanitizer,
# the tests of arrays under memcheck; and last, alone, the benchmarks that need a GPU.  It compiles
# nothing, so BUILD and the sources may have been carried here from another machine.
#
# What a step printed is in FOLDER (by default BUILD/gpu-report), the figures in bench.ndjson there.
# ONLY='^driver|^sample 0' are the steps to take, by kind and name; BENCH=0 leaves the benchmarks out.
# Exit status 0 if all of it passed, 1 if something failed, 2 if there is no GPU.

set -u

# Suites of the library that take longest, to begin with; those whose tests do not mind sharing a process
# and with it a context, which takes longer to make than most tests do; and of these the ones for
# compute-sanitizer, which is slow to start.
long='reduce image_link load stream device'
checked='array create view join elementwise ops eval indexing linalg scan transpose custom
	custom_reduction'
shared="$checked reduce_random pycuda pycuda_views shortcut hero module kernel loaded"

# sanitize SECONDS TOOL COMMAND...: a finding is a failure.
sanitize() {
	limit=$1
	tool=$2
	shift 2
	timeout -k 5 "$limit" compute-sanitizer --tool "$tool" --error-exitcode 1 \
		--target-processes all "$@"
}

# run KIND NAME: one step.
run() {
	case $1 in
	library) CK_RUN_SUITE=$2 timeout -k 5 240 "$build/check_kudzu" ;;
	shared)
		CK_FORK=no CK_EXCLUDE_TAGS=fault CK_RUN_SUITE=$2 timeout -k 5 240 "$build/check_kudzu"
		;;
	own) KUDZU_CUFFT=none CK_RUN_SUITE=$2 timeout -k 5 240 "$build/check_kudzu" ;;
	fault) CK_INCLUDE_TAGS=fault CK_RUN_SUITE=$2 timeout -k 5 240 "$build/check_kudzu" ;;
	driver) # a context takes long to make: all tests of a suite share one
		CK_FORK=no CK_RUN_SUITE=$2 timeout -k 5 120 "$build/check_driver"
		;;
	program) timeout -k 5 60 "$build/tests/dropin/$2" tests/dropin/kernels.ptx ;;
	sample) KUDZU_DEVICE=cuda:0 timeout -k 5 60 .ci/check-sample "$2" "$build/samples/$2" ;;
	suite) # what the driver refuses is no finding, nor are the kernels that fail on purpose
		export CK_RUN_SUITE="$2" CK_FORK=no CK_EXCLUDE_TAGS=fault
		sanitize 240 memcheck --report-api-errors no "$build/check_kudzu"
		;;
	*) KUDZU_DEVICE=cuda:0 sanitize 60 "$1" "$build/samples/$2" ;;
	esac
}

# step KIND NAME: PASS or FAIL, how long it took, and what Check has counted.
step() {
	log=$logs/$1-$2.txt
	from=$(date +%s)
	if run "$1" "$2" >"$log" 2>&1 </dev/null; then
		result=PASS
	else
		result=FAIL
	fi
	seconds=$(($(date +%s) - from))
	counts=$(grep -o '^[0-9]*%: Checks: .*' "$log")
	echo "$result: $1 $2, $seconds s${counts:+, $counts}"
}

# The kinds and names of all steps.
steps() {
	# shellcheck disable=SC2086 # lists of words
	{
		printf 'library %s\n' $long
		printf 'shared %s\n' $shared
		echo fault kernel
		echo own fft # which else is cuFFT's
		grep -vxF "$(printf 'library %s\n' $shared)" "$build/suites"
	}
	for source in samples/*.c; do
		sample=$(basename "$source" .c)
		echo "sample $sample"
		[ "$sample" != 12_compile ] || continue # it uses no device
		printf "%s $sample\n" memcheck racecheck initcheck synccheck
	done
	printf 'program %s\n' vectoradd matmul link query
	# shellcheck disable=SC2086
	printf 'suite %s\n' $checked
}

if [ "$1" = --step ]; then
	step "$2" "$3"
	exit
fi

cd "$(dirname "$0")/.." || exit
build=$(cd "$1" && pwd) || exit
logs=${2:-$build/gpu-report}
mkdir -p "$logs" && logs=$(cd "$logs" && pwd) || exit
if ! nvidia-smi -L 2>/dev/null; then
	echo 'gpu-report: no GPU here (nvidia-smi finds none); nothing was run' >&2
	exit 2
fi

export build logs PATH="$PATH:${CUDA_PATH:-/usr/local/cuda}/bin" # compute-sanitizer
export KUDZU_TEST_DEVICES=cuda CK_DEFAULT_TIMEOUT=60
export KUDZU_CACHE=1 KUDZU_CACHE_DIR="$logs/cache" # steps compile the same
"$build/kudzu" doctor | tee "$logs/doctor.txt"
steps | awk '!seen[$0]++' | grep -E "${ONLY:-.}" |
	xargs -P "$(nproc)" -L 1 bench/gpu_report.sh --step >"$logs/steps.txt" 2>&1
sort "$logs/steps.txt"

# Check's counts stand for its runs, unless one failed for another reason, or did not end.
failed=0
{
	sed -n 's/^.*, \([0-9]*%: Checks\)/\1/p' "$logs/steps.txt"
	grep -v ', [0-9]*%: Checks' "$logs/steps.txt"
	grep '^FAIL: .* 100%: Checks' "$logs/steps.txt"
} >"$logs/counts.txt"
.ci/totals "$logs/counts.txt" || failed=1
if [ "${BENCH:-1}" != 0 ]; then
	KUDZU_CACHE=0 bench/run.sh "$build" gpu >"$logs/bench.ndjson" || failed=1
	bench/table.sh "$logs/bench.ndjson"
fi
exit $failed
