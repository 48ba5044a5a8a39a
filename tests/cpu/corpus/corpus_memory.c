/* SPDX-License-Identifier: MIT */
/* Cases of the corpus: local memory, vectors, cache hints, asynchronous copies. */
#include "base/common.h"

#include "corpus.h"

#include <string.h>

/* The arguments of kernel `lv`, as CUDA C lays them out. */
struct lv {
	int v[9];
	float o[100];
	float f4[32];
	double d2[16];
	int8_t c3[24];
	CUdeviceptr dv, dout, df4, dd2, dc3;
};

static void launch_lv(struct lv *m, unsigned threads, int n)
{
	struct {
		float x, y, z;
		int n;
	} s = {1, 2, 3, n};
	struct {
		_Alignas(16) float a;
		float b, c, d;
	} q = {1, 2, 3, 4};
	for (int i = 0; i < 100; i++) {
		m->v[i % 9] = i;
		m->o[i] = (float)(corpus_u32() % 100);
		m->f4[i % 32] = (float)i;
		m->d2[i % 16] = i * 0.5;
		m->c3[i % 24] = (int8_t)corpus_u32();
	}
	m->dv = corpus_put(m->v, sizeof(m->v));
	m->dout = corpus_put(m->o, sizeof(m->o));
	m->df4 = corpus_put(m->f4, sizeof(m->f4));
	m->dd2 = corpus_put(m->d2, sizeof(m->d2));
	m->dc3 = corpus_put(m->c3, sizeof(m->c3));
	corpus_launch("lv", corpus_line(1, threads),
		(void *[]){&m->dv, &m->dout, &s, &q, &m->df4, &m->dd2, &m->dc3});
}

/* Thread 0 alone: it fills o[0] to o[n-1] with the product of o[0] and 0, then adds the clocks to
 * o[0].  The rest stays. */
static void run_local_alone(void)
{
	enum { COUNT = 40 };
	struct lv m;
	float o[100];
	int v[9];
	launch_lv(&m, 1, COUNT);
	corpus_get(m.dv, v, sizeof(v));
	ck_assert_int_eq(v[0], m.v[1] + 1);
	corpus_same(v + 1, m.v + 1, 8, sizeof(*v));
	corpus_peek(m.dout, o, sizeof(o));
	ck_assert_msg(o[0] > 0, "%s: the clocks are at %g", corpus_where(), (double)o[0]);
	memset(m.o + 1, 0, (COUNT - 1) * sizeof(*o));
	corpus_same(o + 1, m.o + 1, 99, sizeof(*o));
}

/* With more threads v and o depend on their order, and o on the clock. */
static void run_local(void)
{
	enum { THREADS = 8 };
	struct lv m;
	double d2[16];
	int8_t c3[24];
	launch_lv(&m, THREADS, 8);
	corpus_get(m.dd2, d2, sizeof(d2));
	corpus_get(m.dc3, c3, sizeof(c3));
	for (int t = 0; t < THREADS; t++) {
		m.d2[2 * t] += m.d2[2 * t + 1];
		m.c3[3 * t] = (int8_t)(m.c3[3 * t] + m.c3[3 * t + 2]);
	}
	corpus_same(d2, m.d2, 16, sizeof(*d2));
	corpus_same(c3, m.c3, 24, 1);
}

/* Thread 0 alone: each thread writes what the next ones do. */
static void run_hints(void)
{
	float a[8] = {7}, b[8] = {0}, want[8] = {3, 0, 2, 1, 1};
	CUdeviceptr da = corpus_put(a, sizeof(a)), db = corpus_put(b, sizeof(b));
	corpus_launch("hints", corpus_line(1, 1), (void *[]){&da, &db});
	corpus_peek(db, b, sizeof(b));
	want[1] = (float)da;
	corpus_same(b, want, 8, sizeof(*b));
}

enum { COPIED = 256 };

/* Copies through shared memory: out[t] = in[255 - t], of every `step`-th float. */
static void reverse_by(const char *kernel, int step)
{
	float x[COPIED * 4], o[COPIED], want[COPIED];
	corpus_floats(x, COPIED * 4);
	for (int i = 0; i < COPIED; i++) {
		want[i] = x[(COPIED - 1 - i) * step];
	}
	CUdeviceptr dx = corpus_put(x, sizeof(x)), dout = corpus_room(sizeof(o));
	corpus_launch(kernel, corpus_line(1, COPIED), (void *[]){&dx, &dout});
	corpus_get(dout, o, sizeof(o));
	corpus_same(o, want, COPIED, sizeof(*o));
}

static void run_pipeline(void)
{
	reverse_by("ca", 4);
}

static void run_group_copy(void)
{
	reverse_by("ca2", 1);
}

static void run_barrier(void)
{
	reverse_by("bar", 1);
}

const struct corpus_case corpus_memory[] = {
	{"15_local_volatile", "lv, one thread", run_local_alone, 0, 0},
	{"15_local_volatile", "lv", run_local, 0, 0},
	{"15_local_volatile", "hints", run_hints, 0, 0},
	{"17_cpasync", "ca", run_pipeline, 0, 0},
	{"17_cpasync", "ca2", run_group_copy, 0, 0},
	{"17_cpasync", "bar", run_barrier, 0, 0},
	{0},
};
