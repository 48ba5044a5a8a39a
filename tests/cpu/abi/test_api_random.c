/* SPDX-License-Identifier: MIT */
/*
 * Random work in many streams, by many threads, against a model.  Every word of memory belongs to
 * one thread, which computes the value that the word must have in the end.  A thread may use a word
 * in any of its streams, if an event orders the streams first.  Operations do not commute (a word
 * is set, added to, copied), so one that is out of order shows.
 */
#include "cpu/support/api_wait.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdlib.h>

#define THREADS 8
#define WORDS 8
#define STEPS 150

/* The streams of a thread; only some threads use the legacy stream, which orders them all. */
enum { BLOCKING, OTHER_BLOCKING, NON_BLOCKING, LEGACY, OWN, STREAMS };

static const char *const random_seed = "KUDZU_TEST_SEED";

struct actor {
	uint64_t random;
	CUstream streams[STREAMS];
	CUevent event;
	CUdeviceptr address;             /* of WORDS words */
	uint32_t model[WORDS];
	int last[WORDS];                 /* the stream that used it last */
	uint32_t called;                 /* by host functions, in order */
	uint32_t to_call;
	uint32_t found[WORDS];
	pthread_t thread;
};

struct call {
	struct actor *actor;
	uint32_t number;
};

static uint32_t draw(struct actor *a, uint32_t bound)
{
	a->random = a->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(a->random >> 33) % bound;
}

static CUdeviceptr place(const struct actor *a, uint32_t word)
{
	return a->address + word * 4;
}

/* Whether one of two streams is the legacy one, and the other waits for it by itself. */
static bool is_ordered(const struct actor *a, int one, int other)
{
	return a->streams[LEGACY] == CU_STREAM_LEGACY && (one == LEGACY || other == LEGACY)
		&& one != NON_BLOCKING && other != NON_BLOCKING;
}

/* Let a stream see a word as the stream that used it last has left it. */
static void bring(struct actor *a, uint32_t word, int stream)
{
	if (a->last[word] != stream && !is_ordered(a, a->last[word], stream)) {
		OK(cuEventRecord(a->event, a->streams[a->last[word]]));
		OK(cuStreamWaitEvent(a->streams[stream], a->event, 0));
	}
	a->last[word] = stream;
}

static void count_call(void *data)
{
	struct call *call = data;
	if (call->actor->called == call->number) {
		call->actor->called++;
	}
	free(call);
}

static void call_host(struct actor *a)
{
	struct call *call = malloc(sizeof(*call));
	*call = (struct call){a, a->to_call++};
	OK(cuLaunchHostFunc(a->streams[BLOCKING], count_call, call));
}

static void check_word(struct actor *a, uint32_t word, int stream)
{
	uint32_t value = 0;
	OK(cuMemcpyDtoHAsync_v2(&value, place(a, word), 4, a->streams[stream]));
	ck_assert_uint_eq(value, a->model[word]);
}

static void step(struct actor *a)
{
	uint32_t word = draw(a, WORDS);
	uint32_t other = draw(a, WORDS);
	int stream = (int)draw(a, STREAMS);
	uint32_t value = draw(a, 1000);
	bring(a, word, stream);
	switch (draw(a, 8)) {
	case 0:
		OK(cuMemsetD32Async(place(a, word), value, 1, a->streams[stream]));
		a->model[word] = value;
		break;
	case 1:
		bring(a, other, stream);
		OK(cuMemcpyDtoDAsync_v2(place(a, word), place(a, other), 4,
			a->streams[stream]));
		a->model[word] = a->model[other];
		break;
	case 2:
		OK(cuMemcpyHtoDAsync_v2(place(a, word), &value, 4, a->streams[stream]));
		a->model[word] = value;
		break;
	case 3:
		check_word(a, word, stream);
		break;
	case 4:
		call_host(a);
		break;
	default:
		OK(launch_plus(a->streams[stream], place(a, word), value));
		a->model[word] += value;
		break;
	}
}

static void *act(void *arg)
{
	struct actor *a = arg;
	OK(cuCtxSetCurrent(context));
	for (int i = 0; i < STREAMS; i++) {
		a->streams[i] = new_stream(i == NON_BLOCKING ? CU_STREAM_NON_BLOCKING : 0);
	}
	a->streams[OWN] = CU_STREAM_PER_THREAD;
	if (draw(a, 2) == 0) {
		a->streams[LEGACY] = CU_STREAM_LEGACY;
	}
	a->event = new_event(CU_EVENT_DISABLE_TIMING);
	for (int i = 0; i < STEPS; i++) {
		step(a);
	}
	for (int i = 0; i < STREAMS; i++) {
		OK(cuStreamSynchronize(a->streams[i]));
	}
	OK(cuMemcpyDtoH_v2(a->found, a->address, sizeof(a->found)));
	OK(cuEventDestroy_v2(a->event));
	return NULL;
}

START_TEST(random_work_of_many_threads_keeps_every_order)
{
	static struct actor actors[THREADS];
	const char *text = getenv(random_seed);
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : (uint64_t)_i * 1000;
	for (int i = 0; i < THREADS; i++) {
		struct actor *a = &actors[i];
		a->random = seed + (uint64_t)i;
		a->address = alloc(sizeof(a->found));
		OK(cuMemsetD8_v2(a->address, 0, sizeof(a->found)));
	}
	OK(cuCtxSynchronize());
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_create(&actors[i].thread, NULL, act, &actors[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		struct actor *a = &actors[i];
		pthread_join(a->thread, NULL);
		ck_assert_msg(memcmp(a->found, a->model, sizeof(a->found)) == 0
			&& a->called == a->to_call, "thread %d, %s=%llu", i, random_seed,
			(unsigned long long)seed);
	}
}
END_TEST

SUITE(api_random)
{
	Suite *suite = suite_create("api_random");
	TCase *tc = add_case(suite, "random", wait_setup, teardown);
	tcase_add_loop_test(tc, random_work_of_many_threads_keeps_every_order, 0, 6);
	return suite;
}
