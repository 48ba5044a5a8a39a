#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: bench/rodinia.sh BUILD RODINIA [PROGRAM...]
#
# Kernels of Rodinia on the CPU device beside Rodinia's OpenMP programs, both on one thread.
# RODINIA is a folder with its sources, which this script copies and then changes: the OpenMP
# programs get a clock and write what bench_rodinia needs.  The kernels are as they are; kmeans'
# texture references, which CUDA 12 no longer has, become pointers.  A line of JSON for each program
# has the least of some rounds' processor times, and the last line the ratios' geometric mean.
# RODINIA_CFLAGS are gcc's options, by default -O3.  KUDZU_CPU_FEATURES=avx2 is for our side.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
rodinia=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- nw hotspot pathfinder srad backprop lud bfs kmeans
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$rodinia/openmp" "$rodinia/cuda" "$work"
export OMP_NUM_THREADS=1 KUDZU_CPU_THREADS=1
export MALLOC_PERTURB_=1 # touches memory when it is allocated, so that pages are not counted

# after FILE PATTERN TEXT, before FILE PATTERN TEXT: add a line to an OpenMP source
after() {
	sed -i "/$2/a $3" "$1"
}
before() {
	sed -i "/$2/i $3" "$1"
}
begin='RODINIA_BEGIN();'
end='RODINIA_END();'
save() {
	printf 'rodinia_save("%s", %s, %s);' "$1" "$2" "$3"
}

# openmp FOLDER SOURCE...: build the program
openmp() (
	cd "$work/openmp/$1"
	shift
	case $* in
	*.cpp) compiler=g++ ;;
	*) compiler='gcc -std=gnu11' ;;
	esac
	# shellcheck disable=SC2086 # options
	$compiler -w ${RODINIA_CFLAGS:--O3} -fopenmp -include "$here/rodinia_clock.h" "$@" -lm -o "$work/openmp.run"
)

# A kernel's text, to standard output
cuda() {
	grep -hv '^#include' "$@"
}

# The kernel among a program's host code, from its macros to its end
cuda_part() {
	sed -n '/^#define IN_RANGE/,/^}/p' "$1"
}

# A function for each program: it builds the OpenMP program and sets `arguments`, makes the input
# files and PROGRAM.cu.
nw() {
	source=$work/openmp/nw/needle.cpp
	bytes='max_rows * max_cols * sizeof(int)'
	after "$source" 'long long start_time = get_time' \
		"$(save reference referrence "$bytes") $(save items input_itemsets "$bytes") $begin"
	before "$source" 'long long end_time = get_time' "$end $(save result input_itemsets "$bytes")"
	openmp nw needle.cpp
	cuda "$work/cuda/nw/needle.h" "$work/cuda/nw/needle_kernel.cu" >nw.cu
	arguments='2048 10 1'
}

hotspot() {
	source=$work/openmp/hotspot/hotspot_openmp.cpp
	bytes='grid_rows * grid_cols * sizeof(float)'
	after "$source" 'long long start_time = get_time' \
		"$(save temp temp "$bytes") $(save power power "$bytes") $begin"
	before "$source" 'long long end_time = get_time' \
		"$end $(save result 'sim_time % 2 ? result : temp' "$bytes")"
	openmp hotspot hotspot_openmp.cpp
	(echo '#define BLOCK_SIZE 16' && cuda_part "$work/cuda/hotspot/hotspot.cu") >hotspot.cu
	awk 'BEGIN { srand(1); for (i = 0; i < 1048576; i++) { print 320 + 20 * rand() >"temp.txt"
		print rand() / 1000 >"power.txt" } }'
	arguments='1024 1024 60 1 temp.txt power.txt out.txt'
}

pathfinder() {
	source=$work/openmp/pathfinder/pathfinder.cpp
	after "$source" '^    pin_stats_reset();' "$(save wall data 'rows * cols * sizeof(int)') $begin"
	before "$source" '^    pin_stats_pause(cycles);' "$end $(save result dst 'cols * sizeof(int)')"
	openmp pathfinder pathfinder.cpp
	(echo '#define BLOCK_SIZE 256' && echo '#define HALO 1' &&
		cuda_part "$work/cuda/pathfinder/pathfinder.cu") >pathfinder.cu
	arguments='100000 100'
}

srad() {
	source=$work/openmp/srad/srad_v2/srad.cpp
	after "$source" 'Start the SRAD main loop' "$(save image J 'size_I * sizeof(float)') $begin"
	before "$source" 'Computation Done' "$end $(save result J 'size_I * sizeof(float)')"
	openmp srad/srad_v2 srad.cpp
	cuda "$work/cuda/srad/srad_v2/srad.h" "$work/cuda/srad/srad_v2/srad_kernel.cu" >srad.cu
	arguments='2048 2048 0 127 0 127 1 0.5 2'
}

backprop() {
	source=$work/openmp/backprop/backprop_kernel.c
	rows='for (int i = 0; i <= in; i++)'
	bytes='(hid + 1) * sizeof(float)'
	after "$source" 'Performing CPU computation' "$(save units 'net->input_units' '(in + 1) * sizeof(float)') \
$rows $(save weights 'net->input_weights[i]' "$bytes") $begin"
	after "$source" 'bpnn_adjust_weights(net->hidden_delta' "$end $(save delta 'net->hidden_delta' "$bytes") \
$rows $(save result 'net->input_weights[i]' "$bytes")"
	sed -i 's/NUM_THREAD 4/NUM_THREAD 1/' "$work/openmp/backprop/backprop.h"
	openmp backprop backprop.c facetrain.c imagenet.c backprop_kernel.c
	(grep '^#define' "$work/cuda/backprop/backprop.h" &&
		cuda "$work/cuda/backprop/backprop_cuda_kernel.cu") >backprop.cu
	arguments=65536
}

lud() {
	source=$work/openmp/lud/omp/lud.c
	bytes='matrix_dim * matrix_dim * sizeof(float)'
	after "$source" 'stopwatch_start(' "$(save matrix m "$bytes") $begin"
	before "$source" 'stopwatch_stop(' "$end $(save result m "$bytes")"
	openmp lud/omp -I../common lud.c lud_omp.c ../common/common.c
	sed '/^void lud_cuda/,$d' "$work/cuda/lud/cuda/lud_kernel.cu" | grep -v '^#include' >lud.cu
	arguments='-n 1 -s 1024'
}

bfs() {
	source=$work/openmp/bfs/bfs.cpp
	after "$source" 'double start_time = omp_get_wtime' \
		"$(save nodes h_graph_nodes 'no_of_nodes * sizeof(Node)') \
$(save edges h_graph_edges 'edge_list_size * sizeof(int)') $begin"
	before "$source" 'double end_time = omp_get_wtime' "$end $(save result h_cost 'no_of_nodes * sizeof(int)')"
	openmp bfs bfs.cpp
	(echo '#define MAX_THREADS_PER_BLOCK 512' && echo 'struct Node { int starting, no_of_edges; };' &&
		cuda "$work/cuda/bfs/kernel.cu" "$work/cuda/bfs/kernel2.cu") >bfs.cu
	awk 'BEGIN { srand(1); n = 1000000; print n; for (i = 0; i < n; i++) print 6 * i, 6; print 0
		print 6 * n; for (i = 0; i < 6 * n; i++) print int(n * rand()), 1 }' >graph.txt
	arguments='1 graph.txt'
}

kmeans() {
	source=$work/openmp/kmeans/kmeans_openmp/kmeans_clustering.c
	after "$source" 'printf("num of threads' \
		"$(save features 'feature[0]' 'npoints * nfeatures * sizeof(float)') \
$(save clusters 'clusters[0]' 'nclusters * nfeatures * sizeof(float)') $begin"
	after "$source" 'while (delta > threshold' "$end loop++; $(save rounds '\&loop' 'sizeof(int)') \
$(save result membership 'npoints * sizeof(int)')"
	openmp kmeans/kmeans_openmp cluster.c getopt.c kmeans.c kmeans_clustering.c
	(echo '#define FLT_MAX 3.40282347e+38' &&
		echo 'template <class T, int dims, int mode> struct kz_texture { const T *at; };' &&
		echo 'template <class T, int dims, int mode> __device__ T tex1Dfetch(' &&
		echo 'const kz_texture<T, dims, mode> &from, int i) { return from.at[i]; }' &&
		echo '#define texture __device__ kz_texture' &&
		cuda "$work/cuda/kmeans/kmeans_cuda_kernel.cu") >kmeans.cu
	awk 'BEGIN { srand(1); for (i = 0; i < 100000; i++) { line = i
		for (j = 0; j < 34; j++) line = line " " int(1000 * rand()) + 300 * (i % 5 == j % 5)
		print line } }' >points.txt
	arguments='-i points.txt -k 5 -n 1'
}

# The least of the seconds that some runs print to standard error or output
least() {
	sed -n 's/^seconds //p' | sort -g | head -n 1
}

ratios=
for program in "$@"; do
	mkdir "$work/$program"
	cd "$work/$program"
	"$program"
	for _ in 1 2 3 4 5; do
		rm -f result reference items temp power wall image units weights delta matrix nodes edges \
			features clusters rounds
		# shellcheck disable=SC2086 # arguments
		"$work/openmp.run" $arguments 2>>openmp.txt >/dev/null
	done
	for _ in 1 2; do
		MALLOC_PERTURB_=0 "$build/bench/bench_rodinia" "$program"
	done >ours.txt
	ratio=$(awk -v ours="$(least <ours.txt)" -v theirs="$(least <openmp.txt)" 'BEGIN {
		printf "%.3g %.4g %.4g", ours / theirs, 1e3 * ours, 1e3 * theirs }')
	echo "$program $ratio" | awk '{ printf "{\"case\":\"rodinia: %s\",\"what\":\"kudzu over OpenMP\"," \
		"\"unit\":\"ratio\",\"median\":%s,\"kudzu ms\":%s,\"OpenMP ms\":%s}\n", $1, $2, $3, $4 }'
	ratios="$ratios ${ratio%% *}"
done
echo "$ratios" | awk '{ for (i = 1; i <= NF; i++) sum += log($i)
	printf "{\"case\":\"rodinia: geometric mean of %d\",\"what\":\"kudzu over OpenMP\",\"unit\":\"ratio\"," \
		"\"median\":%.3g}\n", NF, exp(sum / NF) }'
