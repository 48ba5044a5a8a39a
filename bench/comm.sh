#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: bench/comm.sh BUILD
#
# All-reduce over two CPU devices of one process, beside MPI's over two processes, in turns: the ratio
# for each size in KiB, and the table of bench_comm.

set -eu -o pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v mpicc >/dev/null || { echo 'no MPI here: make setup-dev'; exit 1; }
mpicc -O2 -o "$work/mpi" bench/mpi_all_reduce.c
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_hwloc_base_binding_policy=none
for _ in 1 2 3; do
	KUDZU_DEVICE=cpu "$build/bench/bench_comm" >"$work/kudzu"
	mpirun --oversubscribe -n 2 "$work/mpi" >"$work/peer"
	for size in 1 1024 262144; do
		own=$(sed -n "s/.*all-reduce, 2 devices, $size KiB.*\"median\": *\([0-9.e+-]*\).*/\1/p" "$work/kudzu")
		peer=$(awk -v size=$size '$1 == size { print $2 }' "$work/peer")
		echo "$size $own $peer" | awk '{ printf "%d KiB: %.1f us, MPI %.1f us, ratio %.2f\n", $1, $2, $3, $2 / $3 }'
	done
done
bench/table.sh "$work/kudzu"
