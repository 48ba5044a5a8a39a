/* SPDX-License-Identifier: MIT */
/* MPI_Allreduce of float32, for bench/comm.sh: the median time for each size, printed by rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 11 };

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static const int sizes[] = {1 << 10, 1 << 20, 1 << 28};
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int k = 0; k < 3; k++) {
		const int count = sizes[k] / 4;
		const int repeats = sizes[k] < 1 << 20 ? 1000 : sizes[k] < 1 << 24 ? 50 : 1;
		double times[ROUNDS];
		float *array = calloc((size_t)count, sizeof(float));
		for (int round = -1; round < ROUNDS; round++) {
			MPI_Barrier(MPI_COMM_WORLD);
			const double begin = MPI_Wtime();
			for (int i = 0; i < repeats; i++) {
				MPI_Allreduce(MPI_IN_PLACE, array, count, MPI_FLOAT, MPI_MAX,
					MPI_COMM_WORLD);
			}
			times[round < 0 ? 0 : round] = 1e6 * (MPI_Wtime() - begin) / repeats;
		}
		qsort(times, ROUNDS, sizeof(*times), compare);
		if (rank == 0) {
			printf("%d %.3f\n", sizes[k] >> 10, times[ROUNDS / 2]);
		}
		free(array);
	}
	MPI_Finalize();
	return 0;
}
