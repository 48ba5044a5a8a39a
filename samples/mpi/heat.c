/* SPDX-License-Identifier: MIT */
/*
 * Heat in a square plate whose border is cold, over the ranks of MPI: each has some rows, and a
 * copy of the row above and of the row below.
 *
 * The exchange of these rows is hidden behind the work on the others: the rows inside are computed
 * in one stream while MPI moves the edges, which are then computed in another stream.  At the end
 * the first rank computes the whole plate alone, and compares: each bit is the same.
 *
 *	mpirun -n 4 heat [SIZE [STEPS]]
 */
#include "part.h"

#include <stdio.h>
#include <string.h>

static const char source[] =
	"// gridDim.y rows from `first` on, `step` apart, of n columns.\n"
	"__global__ void heat(const float *from, float *to, int first, int step, int n)\n"
	"{\n"
	"	const int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	const long long at = (first + (long long)blockIdx.y * step) * n + x;\n"
	"	if (x > 0 && x < n - 1)\n"
	"		to[at] = from[at] + 0.2f * (from[at - 1] + from[at + 1] + from[at - n]\n"
	"			+ from[at + n] - 4 * from[at]);\n"
	"}\n";

/* Memory of the host, freed with free; if it runs out, all ranks end. */
static void *heat_alloc(int64_t size)
{
	void *memory = malloc((size_t)size);
	if (!memory) {
		fprintf(stderr, "heat: out of memory for %lld bytes\n", (long long)size);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return memory;
}

/* The rows of a rank, between the two that belong to its neighbours. */
struct plate {
	int n, rows;
	kz_array *now, *next;
	kz_stream *inner, *edge;
	kz_event *inner_done[2], *edge_done; /* of this step and the one before */
	kz_module *module;
	kz_kernel *heat;
};

/* A warm spot in the middle. */
static float begin_value(int n, int row, int column)
{
	const float x = (float)(column - n / 2) / (float)n, y = (float)(row - n / 2) / (float)n;
	return row > 0 && row < n - 1 && column > 0 && column < n - 1
		? 100 * (x * x + y * y < 0.05f) : 0;
}

static struct plate plate_make(kz_device *dev, int n, int first, int rows)
{
	struct plate plate = {.n = n, .rows = rows};
	const int64_t size = (int64_t)sizeof(float) * (rows + 2) * n;
	float *host = heat_alloc(size);
	for (int i = 0; host && i < (rows + 2) * n; i++) {
		host[i] = begin_value(n, first - 1 + i / n, i % n);
	}
	CHECK(kz_array_from(&plate.now, dev, KZ_F32, KZ_SHAPE(rows + 2, n), host, size, &err));
	CHECK(kz_array_copy(&plate.next, plate.now, &err));
	CHECK(kz_stream_create(&plate.inner, dev, 0, &err));
	CHECK(kz_stream_create(&plate.edge, dev, 0, &err));
	CHECK(kz_event_create(&plate.inner_done[0], dev, &err));
	CHECK(kz_event_create(&plate.inner_done[1], dev, &err));
	CHECK(kz_event_create(&plate.edge_done, dev, &err));
	CHECK(kz_module_compile(&plate.module, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&plate.heat, plate.module, "heat", &err));
	CHECK(kz_device_synchronize(dev, &err));
	free(host);
	return plate;
}

static void plate_release(struct plate *plate)
{
	kz_release_all(plate->module, plate->edge_done, plate->inner_done[0],
		plate->inner_done[1], plate->inner, plate->edge, plate->now, plate->next);
}

/* Compute `count` rows from `first` on, which are `step` apart.  The two streams use both arrays at
 * once, so the arrays are given as addresses, whose order is that of our events. */
static void plate_launch(struct plate *plate, kz_stream *stream, int first, int step, int count)
{
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.stream = stream;
	if (count > 0) {
		CHECK(kz_launch(plate->heat, KZ_DIM((plate->n + 127) / 128, count), KZ_DIM(128),
			&options, &err, KZ_ARGS(KZ_DEVPTR(kz_array_address(plate->now)),
				KZ_DEVPTR(kz_array_address(plate->next)), first, step, plate->n)));
	}
}

/* The row as a part for MPI. */
static struct part plate_row(kz_array *array, int row)
{
	kz_array *view = NULL;
	CHECK(kz_array_slice(&view, array, KZ_AT(row), &err));
	return part_make(view);
}

/* Each neighbour gets an edge and gives one. */
static void plate_exchange(struct plate *plate, int above, int below)
{
	const int rows[4] = {1, plate->rows + 1, plate->rows, 0};
	struct part parts[4]; /* sent up, received from below; sent down, received from above */
	for (int i = 0; i < 4; i++) {
		parts[i] = plate_row(plate->now, rows[i]);
	}
	for (int i = 0; i < 4; i += 2) {
		const int to = i ? below : above, from = i ? above : below;
		part_send(&parts[i]);
		MPI_Sendrecv(parts[i].address, plate->n, MPI_FLOAT, to, i, parts[i + 1].address,
			plate->n, MPI_FLOAT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (from != MPI_PROC_NULL) {
			part_received(&parts[i + 1]);
		}
	}
	for (int i = 0; i < 4; i++) {
		part_release(&parts[i]);
	}
}

/* The plate's border, a row of the first and of the last rank, stays as it is. */
static void plate_step(struct plate *plate, int step, int above, int below)
{
	const int top = above == MPI_PROC_NULL ? 2 : 1;
	const int bottom = below == MPI_PROC_NULL ? plate->rows - 1 : plate->rows;
	kz_event *const done = plate->inner_done[step % 2];
	kz_event *const before = plate->inner_done[(step + 1) % 2];
	CHECK(kz_stream_wait(plate->inner, plate->edge_done, &err));
	plate_launch(plate, plate->inner, top + 1, 1, bottom - top - 1);
	CHECK(kz_event_record(done, plate->inner, &err));
	CHECK(kz_stream_synchronize(plate->edge, &err));
	plate_exchange(plate, above, below);
	CHECK(kz_stream_wait(plate->edge, before, &err));
	plate_launch(plate, plate->edge, top, bottom > top ? bottom - top : 1,
		bottom > top ? 2 : bottom == top);
	CHECK(kz_event_record(plate->edge_done, plate->edge, &err));
	kz_array *const now = plate->now;
	plate->now = plate->next;
	plate->next = now;
}

/* All steps; the rows of the rank, freed with free, and how long the steps took. */
static float *plate_run(double *seconds, kz_device *dev, int n, int steps, int first, int rows,
	int above, int below)
{
	struct plate plate = plate_make(dev, n, first, rows);
	kz_array *own = NULL;
	float *host = heat_alloc((int64_t)sizeof(float) * rows * n);
	const double begin = MPI_Wtime();
	for (int step = 0; step < steps; step++) {
		plate_step(&plate, step, above, below);
	}
	CHECK(kz_stream_synchronize(plate.edge, &err));
	CHECK(kz_stream_synchronize(plate.inner, &err));
	*seconds = MPI_Wtime() - begin;
	CHECK(kz_array_slice(&own, plate.now, KZ_AT(KZ_SLICE(1, rows + 1)), &err));
	CHECK(kz_array_get(own, host, kz_array_size(own), &err));
	kz_array_release(own);
	plate_release(&plate);
	return host;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 256, steps = argc > 2 ? atoi(argv[2]) : 200;
	int rank, ranks, differing = 0;
	double seconds, alone_seconds;
	kz_device *dev = NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (n < ranks || n < 3 || n > 32768) {
		fprintf(stderr, "heat: expected 3 to 32768 rows, and one for each rank\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	/* Each rank has a GPU of its own, while there are any. */
	const int gpus = getenv("KUDZU_DEVICE") ? 0 : kz_cuda_device_count();
	if (gpus > 0) {
		CHECK(kz_try_gpu(&dev, rank % gpus, &err));
	} else {
		CHECK(kz_device_open(&dev, NULL, &err));
	}
	const int first = rank * n / ranks, rows = (rank + 1) * n / ranks - first;
	float *own = plate_run(&seconds, dev, n, steps, first, rows,
		rank > 0 ? rank - 1 : MPI_PROC_NULL, rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL);

	/* The first rank has the whole plate, and computes it alone. */
	float *whole = rank == 0 ? heat_alloc((int64_t)sizeof(float) * n * n) : NULL;
	int *counts = heat_alloc(2 * (int64_t)sizeof(int) * ranks), *places = counts + ranks;
	for (int i = 0; i < ranks; i++) {
		places[i] = i * n / ranks * n;
		counts[i] = (i + 1) * n / ranks * n - places[i];
	}
	MPI_Gatherv(own, rows * n, MPI_FLOAT, whole, counts, places, MPI_FLOAT, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		float *alone = plate_run(&alone_seconds, dev, n, steps, 0, n, MPI_PROC_NULL,
			MPI_PROC_NULL);
		for (int i = 0; i < n * n; i++) {
			differing += memcmp(&alone[i], &whole[i], sizeof(float)) != 0;
		}
		printf("%d x %d, %d steps, %d ranks: %.2f degrees between middle and border\n"
			"%d of %d elements differ from one rank\n", n, n, steps, ranks,
			(double)whole[n / 2 * n + n / 4], differing, n * n);
		fprintf(stderr, "%.3f s, alone %.3f s\n", seconds, alone_seconds);
		free(alone);
	}
	free(counts);
	free(whole);
	free(own);
	kz_device_close(dev);
	MPI_Finalize();
	return differing != 0;
}
