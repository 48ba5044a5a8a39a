/* SPDX-License-Identifier: MIT */
/*
 * A step that is captured once and launched many times.  Newton's method finds the square roots of
 * eight numbers: each step is an expression, a kernel and a reduction, and one launch runs all
 * three.  Between launches the kernel gets another argument by its name.  `22_graph FILE.dot` also
 * writes the graph for Graphviz.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { N = 8, STEPS = 6 };

static const char source[] =
	"__global__ void blend(float *x, const float *next, float share)\n"
	"{\n"
	"	x[threadIdx.x] += share * (next[threadIdx.x] - x[threadIdx.x]);\n"
	"}\n";

struct problem {
	kz_device *dev;
	kz_module *mod;
	kz_kernel *blend;
	kz_array *a, *x, *next, *error;
	kz_exec *step;
};

static void prepare(struct problem *p)
{
	CHECK(kz_device_open(&p->dev, NULL, &err));
	CHECK(kz_module_compile(&p->mod, p->dev, source, NULL, &err));
	CHECK(kz_module_kernel(&p->blend, p->mod, "blend", &err));
	CHECK(kz_arange(&p->a, p->dev, KZ_F32, 1, N + 1, 1, &err));
	CHECK(kz_array_zeros_like(&p->next, p->a, KZ_F32, &err));
	CHECK(kz_array_copy(&p->x, p->a, &err));
	CHECK(kz_max(&p->error, p->a, KZ_ALL_AXES, &err));
}

/* One step of the iteration; run as it is, or recorded. */
static void step(struct problem *p)
{
	kz_array *a = p->a, *x = p->x, *off = NULL;
	CHECK(kz_eval_into(p->next, "(x + a / x) / 2", &err, KZ_VARS(a, x)));
	CHECK(kz_launch(p->blend, KZ_DIM(1), KZ_DIM(N), NULL, &err, KZ_ARGS(x, p->next, 1.0f)));
	CHECK(kz_eval(&off, "abs(x * x - a)", NULL, &err, KZ_VARS(a, x)));
	CHECK(kz_reduce(NULL, KZ_REDUCE_MAX, off, KZ_ALL_AXES,
		KZ_WITH(kz_reduce_options, .into = p->error), &err));
	kz_array_release(off); /* the graph keeps it */
}

static void record(struct problem *p, const char *path)
{
	kz_graph *graph = NULL;
	kz_stream *stream = kz_device_stream(p->dev);
	int64_t nodes = 0, edges = 0;
	CHECK(kz_graph_begin(stream, NULL, &err));
	step(p);
	CHECK(kz_graph_end(&graph, stream, &err));
	CHECK(kz_graph_count(&nodes, &edges, graph, &err));
	CHECK(kz_graph_instantiate(&p->step, graph, &err));
	printf("a graph of %lld nodes\n", (long long)nodes);
	FILE *file = path ? fopen(path, "w") : NULL;
	if (file) {
		CHECK(kz_graph_print(graph, file, &err));
		fclose(file);
	}
	kz_graph_release(graph);
}

static void run(struct problem *p)
{
	for (int i = 0; i < STEPS; i++) {
		float error;
		CHECK(kz_exec_launch(p->step, NULL, &err));
		CHECK(kz_array_item(&error, p->error, KZ_AT(), &err));
		printf("step %d: off by at most %.5f\n", i, (double)error);
	}
	/* With a share of 0 nothing moves any more. */
	CHECK(kz_exec_set_args(p->step, "blend", &err, KZ_ARGS(p->x, p->next, 0.0f)));
	CHECK(kz_exec_launch(p->step, NULL, &err));
	CHECK(kz_array_print(p->x, stdout, &err));
}

int main(int argc, char **argv)
{
	struct problem p = {0};
	prepare(&p);
	step(&p); /* compiles what the capture needs */
	record(&p, argc > 1 ? argv[1] : NULL);
	run(&p);
	kz_release_all(p.step, p.a, p.x, p.next, p.error, p.mod, p.dev);
	return 0;
}
