/* SPDX-License-Identifier: MIT */
/*
 * A network learns to tell irises apart, data-parallel: each device has a part of the rows and the
 * same weights, computes the gradient of its rows, and all add these up.  Three times: on one
 * device; on four devices of this process, which kz_comm_all_reduce connects; and on the devices of
 * MPI's ranks.  The losses are the same but for the order of the sums.
 *
 *	KUDZU_CPU_DEVICES=4 mpirun -n 4 train
 */
#include "iris.h"
#include "part.h"

#include <math.h>
#include <stdio.h>

enum { INPUTS = 4, HIDDEN = 8, KINDS = 3, PARAMS = HIDDEN * (INPUTS + 1) + KINDS * (HIDDEN + 1),
	EPOCHS = 100, MOST_DEVICES = 8 };

/* `sums` is the gradient, and the loss after it. */
static const char source[] =
	"enum { INPUTS = 4, HIDDEN = 8, KINDS = 3, B1 = HIDDEN * INPUTS, W2 = B1 + HIDDEN,\n"
	"	B2 = W2 + KINDS * HIDDEN, PARAMS = B2 + KINDS };\n"
	"extern \"C\" __global__ void gradient(double *sums, const double *w, const float *rows,\n"
	"	const int *kinds, int count)\n"
	"{\n"
	"	const int t = threadIdx.x; // a thread has one number of the sums\n"
	"	double sum = 0;\n"
	"	for (int r = 0; r < count; r++) {\n"
	"		double h[HIDDEN], z[KINDS], total = 0;\n"
	"		for (int j = 0; j < HIDDEN; j++) {\n"
	"			h[j] = w[B1 + j];\n"
	"			for (int i = 0; i < INPUTS; i++)\n"
	"				h[j] += w[j * INPUTS + i] * rows[r * INPUTS + i];\n"
	"			h[j] = tanh(h[j]);\n"
	"		}\n"
	"		for (int k = 0; k < KINDS; k++) {\n"
	"			z[k] = w[B2 + k];\n"
	"			for (int j = 0; j < HIDDEN; j++)\n"
	"				z[k] += w[W2 + k * HIDDEN + j] * h[j];\n"
	"			total += exp(z[k]);\n"
	"		}\n"
	"		double d[KINDS]; // of the loss by z\n"
	"		for (int k = 0; k < KINDS; k++)\n"
	"			d[k] = exp(z[k]) / total - (k == kinds[r]);\n"
	"		if (t == PARAMS) {\n"
	"			sum += log(total) - z[kinds[r]];\n"
	"		} else if (t >= B2) {\n"
	"			sum += d[t - B2];\n"
	"		} else if (t >= W2) {\n"
	"			sum += d[(t - W2) / HIDDEN] * h[(t - W2) % HIDDEN];\n"
	"		} else {\n"
	"			const int j = t < B1 ? t / INPUTS : t - B1;\n"
	"			double dh = 0;\n"
	"			for (int k = 0; k < KINDS; k++)\n"
	"				dh += d[k] * w[W2 + k * HIDDEN + j];\n"
	"			sum += dh * (1 - h[j] * h[j])\n"
	"				* (t < B1 ? rows[r * INPUTS + t % INPUTS] : 1);\n"
	"		}\n"
	"	}\n"
	"	sums[t] = sum;\n"
	"}\n"
	"extern \"C\" __global__ void update(double *w, const double *sums, double *losses,\n"
	"	int epoch, double rate)\n"
	"{\n"
	"	const int t = threadIdx.x;\n"
	"	if (t < PARAMS) w[t] -= rate * sums[t];\n"
	"	else losses[epoch] = sums[t];\n"
	"}\n";

/* A device, its weights and its rows. */
struct worker {
	kz_device *dev;
	kz_module *module;
	kz_kernel *gradient, *update;
	kz_array *w, *sums, *losses, *rows, *kinds;
	int count;
};

static struct worker worker_make(kz_device *dev, int first, int count)
{
	struct worker worker = {.dev = dev, .count = count};
	float rows[IRIS_ROWS][IRIS_COLUMNS];
	int32_t kinds[IRIS_ROWS];
	double w[PARAMS];
	static const float means[IRIS_COLUMNS] = {5.84f, 3.06f, 3.76f, 1.20f};
	iris_split(rows, kinds, 33);
	for (int i = 0; i < IRIS_ROWS * IRIS_COLUMNS; i++) {
		rows[i / IRIS_COLUMNS][i % IRIS_COLUMNS] -= means[i % IRIS_COLUMNS];
	}
	for (int i = 0; i < PARAMS; i++) {
		w[i] = 0.3 * sin(1.0 + i);
	}
	CHECK(kz_module_compile(&worker.module, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&worker.gradient, worker.module, "gradient", &err));
	CHECK(kz_module_kernel(&worker.update, worker.module, "update", &err));
	CHECK(kz_array_from(&worker.w, dev, KZ_FROM(w), &err));
	CHECK(kz_array_create(&worker.sums, dev, KZ_F64, KZ_SHAPE(PARAMS + 1), &err));
	CHECK(kz_array_create(&worker.losses, dev, KZ_F64, KZ_SHAPE(EPOCHS), &err));
	CHECK(kz_array_from(&worker.rows, dev, KZ_F32, KZ_SHAPE(count, IRIS_COLUMNS), rows[first],
		(int64_t)sizeof(rows[0]) * count, &err));
	CHECK(kz_array_from(&worker.kinds, dev, KZ_I32, KZ_SHAPE(count), kinds + first,
		(int64_t)sizeof(int32_t) * count, &err));
	return worker;
}

static void worker_release(struct worker *worker)
{
	kz_release_all(worker->w, worker->sums, worker->losses, worker->rows, worker->kinds,
		worker->module);
}

static void worker_gradient(struct worker *worker)
{
	CHECK(kz_launch(worker->gradient, KZ_DIM(1), KZ_DIM(PARAMS + 1), NULL, &err,
		KZ_ARGS(worker->sums, worker->w, worker->rows, worker->kinds, worker->count)));
}

static void worker_update(struct worker *worker, int epoch)
{
	CHECK(kz_launch(worker->update, KZ_DIM(1), KZ_DIM(PARAMS + 1), NULL, &err,
		KZ_ARGS(worker->w, worker->sums, worker->losses, epoch, 0.5 / IRIS_ROWS)));
}

/* On some devices of this process. */
static void train_here(double losses[EPOCHS], kz_device **devices, int count)
{
	struct worker workers[MOST_DEVICES];
	kz_array *sums[MOST_DEVICES];
	kz_comm *comm = NULL;
	CHECK(kz_comm_create(&comm, devices, count, NULL, &err));
	for (int i = 0; i < count; i++) {
		const int first = i * IRIS_ROWS / count;
		workers[i] = worker_make(devices[i], first, (i + 1) * IRIS_ROWS / count - first);
		sums[i] = workers[i].sums;
	}
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		/* part: step */
		for (int i = 0; i < count; i++) {
			worker_gradient(&workers[i]);
		}
		CHECK(kz_comm_all_reduce(comm, sums, sums, KZ_REDUCE_SUM, NULL, &err));
		for (int i = 0; i < count; i++) {
			worker_update(&workers[i], epoch);
		}
		/* part: */
	}
	CHECK(kz_comm_synchronize(comm, &err));
	CHECK(kz_array_get(workers[0].losses, losses, sizeof(double) * EPOCHS, &err));
	for (int i = 0; i < count; i++) {
		worker_release(&workers[i]);
	}
	kz_comm_release(comm);
}

/* On the devices of all ranks, one each. */
static void train_ranks(double losses[EPOCHS], kz_device *dev, int rank, int ranks)
{
	const int first = rank * IRIS_ROWS / ranks;
	struct worker worker = worker_make(dev, first, (rank + 1) * IRIS_ROWS / ranks - first);
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		worker_gradient(&worker);
		CHECK(kz_device_synchronize(dev, &err));
		struct part sums = part_make(kz_array_retain(worker.sums));
		part_send(&sums);
		MPI_Allreduce(MPI_IN_PLACE, sums.address, PARAMS + 1, MPI_DOUBLE, MPI_SUM,
			MPI_COMM_WORLD);
		part_received(&sums);
		part_release(&sums);
		worker_update(&worker, epoch);
	}
	CHECK(kz_array_get(worker.losses, losses, sizeof(double) * EPOCHS, &err));
	worker_release(&worker);
}

static int report(const char *what, const double *losses, const double *alone)
{
	double largest = 0;
	for (int i = 0; i < EPOCHS; i++) {
		largest = fmax(largest, fabs(losses[i] - alone[i]) / IRIS_ROWS);
	}
	printf("%s: loss %.6f, then %.6f; the losses differ by at most 1e-6 from one device: %s\n",
		what, losses[0] / IRIS_ROWS, losses[EPOCHS - 1] / IRIS_ROWS,
		largest <= 1e-6 ? "yes" : "no");
	return !(largest <= 1e-6);
}

int main(int argc, char **argv)
{
	double alone[EPOCHS], here[EPOCHS], spread[EPOCHS];
	kz_device *devices[MOST_DEVICES] = {NULL}, *dev;
	int rank, ranks, count = 0, failed = 0;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	/* All GPUs, else all CPU devices. */
	const int is_cuda = !getenv("KUDZU_DEVICE") && kz_cuda_device_count() > 0;
	for (; count < MOST_DEVICES; count++) {
		char name[32];
		snprintf(name, sizeof(name), is_cuda ? "cuda:%d" : "cpu:%d", count);
		if (kz_device_open(&devices[count], name, count ? NULL : &err)) {
			break;
		}
	}
	CHECK(count == 0);
	dev = devices[rank % count];
	train_here(alone, &dev, 1);
	train_here(here, devices, count);
	train_ranks(spread, dev, rank, ranks);
	if (rank == 0) {
		char text[64];
		printf("one device: loss %.6f, then %.6f\n", alone[0] / IRIS_ROWS,
			alone[EPOCHS - 1] / IRIS_ROWS);
		snprintf(text, sizeof(text), "%d devices", count);
		failed = report(text, here, alone);
		snprintf(text, sizeof(text), "%d ranks", ranks);
		failed = report(text, spread, alone) || failed;
	}
	for (int i = 0; i < count; i++) {
		kz_device_close(devices[i]);
	}
	MPI_Finalize();
	return failed;
}
