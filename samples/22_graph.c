/* SPDX-License-Identifier: MIT */
/*
 * A step that is captured once and launched many times.  Newton's method finds the square roots of
 * eight numbers: each step is an expression, a kernel and a reduction, and one launch runs all
 * three.  Between launches the kernel gets another argument by its name.  `22_graph FILE.dot` also
 * writes the graph for Graphviz.
 */
#include <kudzu/kudzu.h>
#include <stdio.h>

enum { N = 8, STEPS = 6 };

static const char source[] =
	"extern \"C\" __global__ void blend(float *x, const float *next, float share)\n"
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

static kz_status prepare(struct problem *p, kz_error *err)
{
	kz_status st;
	if ((st = kz_device_open(&p->dev, NULL, err))
	    || (st = kz_module_compile(&p->mod, p->dev, source, NULL, err))
	    || (st = kz_module_kernel(&p->blend, p->mod, "blend", err))
	    || (st = kz_arange(&p->a, p->dev, KZ_F32, 1, N + 1, 1, err))
	    || (st = kz_array_zeros_like(&p->next, p->a, KZ_F32, err))
	    || (st = kz_array_copy(&p->x, p->a, err))) {
		return st;
	}
	return kz_max(&p->error, p->a, KZ_ALL_AXES, err);
}

/* One step of the iteration; run as it is, or recorded. */
static kz_status step(struct problem *p, kz_error *err)
{
	kz_array *a = p->a, *x = p->x, *off = NULL;
	kz_op_options into = KZ_OP_OPTIONS_INIT;
	kz_reduce_options largest = KZ_REDUCE_OPTIONS_INIT;
	kz_status st;
	into.into = p->next;
	largest.into = p->error;
	if (!(st = kz_eval(NULL, "(x + a / x) / 2", &into, err, KZ_VARS(a, x)))
	    && !(st = kz_launch(p->blend, kz_dim(1, 1, 1), kz_dim(N, 1, 1), NULL, err,
			KZ_ARGS(x, p->next, 1.0f)))
	    && !(st = kz_eval(&off, "abs(x * x - a)", NULL, err, KZ_VARS(a, x)))) {
		st = kz_reduce(NULL, KZ_REDUCE_MAX, off, KZ_ALL_AXES, &largest, err);
	}
	kz_array_release(off); /* the graph keeps it */
	return st;
}

static kz_status record(struct problem *p, const char *path, kz_error *err)
{
	kz_graph *graph = NULL;
	FILE *file = path ? fopen(path, "w") : NULL;
	int64_t nodes = 0, edges = 0;
	kz_stream *stream = kz_device_stream(p->dev);
	kz_status st = kz_graph_begin(stream, NULL, err);
	if (!st) {
		st = step(p, err);
		kz_status ended = kz_graph_end(&graph, stream, st ? NULL : err);
		st = st ? st : ended;
	}
	if (!st && !(st = kz_graph_count(&nodes, &edges, graph, err))
	    && !(st = kz_graph_instantiate(&p->step, graph, err))) {
		printf("a graph of %lld nodes\n", (long long)nodes);
	}
	if (!st && file) {
		st = kz_graph_print(graph, file, err);
	}
	if (file) {
		fclose(file);
	}
	kz_graph_release(graph);
	return st;
}

static kz_status run(struct problem *p, kz_error *err)
{
	kz_status st = KZ_OK;
	float error;
	for (int i = 0; i < STEPS && !st; i++) {
		if (!(st = kz_exec_launch(p->step, NULL, err))
		    && !(st = kz_array_get(p->error, &error, sizeof(error), err))) {
			printf("step %d: off by at most %.5f\n", i, (double)error);
		}
	}
	/* With a share of 0 nothing moves any more. */
	if (!st && !(st = kz_exec_set_args(p->step, "blend", err, KZ_ARGS(p->x, p->next, 0.0f)))
	    && !(st = kz_exec_launch(p->step, NULL, err))) {
		st = kz_array_print(p->x, stdout, err);
	}
	return st;
}

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	struct problem p = {0};
	if (prepare(&p, &err) || step(&p, &err) /* compiles what the capture needs */
	    || record(&p, argc > 1 ? argv[1] : NULL, &err) || run(&p, &err)) {
		kz_error_print(&err, stderr);
	}
	int failed = kz_error_status(&err) != KZ_OK;
	kz_error_clear(&err);
	kz_exec_release(p.step);
	kz_array_release(p.a);
	kz_array_release(p.x);
	kz_array_release(p.next);
	kz_array_release(p.error);
	kz_module_release(p.mod);
	kz_device_close(p.dev);
	return failed;
}
