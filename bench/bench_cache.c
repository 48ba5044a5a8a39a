/* SPDX-License-Identifier: MIT */
/*
 * The time of the store on disk by itself, for values of 8 KB, the size of a usual cubin.
 *
 *	bench_cache           a hit, a miss, a put, a lock; beside the bare system calls
 *	bench_cache many      hits among 100,000 entries beside hits among 1,000 (takes 400 MB)
 *
 * Each sample is a batch.  Things that are compared take turns.  The files are in the page cache,
 * as when a program starts again soon.
 */
#include "bench.h"

#include "base/alloc.h"
#include "base/store.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 41, KEYS = 64, SIZE = 8192, FEW = 1000, MANY = 100000, SMALL = 2000 };

static char folder[64];
static char value[SIZE];

static size_t make_key(char key[32], int number)
{
	return (size_t)snprintf(key, 32, "bench %d", number);
}

static struct store *open_store(const char *name)
{
	char path[96];
	struct store *store = NULL;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	struct store_options options = {path, INT64_C(8) << 30};
	return store_open(&store, &options) && !store_off(store) ? store : NULL;
}

static int get(struct store *store, int number)
{
	char key[32], *found;
	size_t size, key_size = make_key(key, number);
	enum store_result result = store_get(store, key, key_size, &found, &size);
	mem_free(found);
	return result;
}

static int put(struct store *store, int number, size_t size)
{
	char key[32];
	size_t key_size = make_key(key, number);
	return !store_put(store, key, key_size, value, size);
}

/* The least that reading a file can be. */
static int read_bare(int number)
{
	char path[96], bytes[SIZE];
	struct stat st;
	snprintf(path, sizeof(path), "%s/bare.%d", folder, number);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int failed = fd < 0 || fstat(fd, &st) != 0 || read(fd, bytes, SIZE) != SIZE;
	close(fd);
	return failed;
}

/* Writing one and giving it its name, with and without waiting for the disk. */
static int write_bare(int number, int sync)
{
	char path[96], temporary[96];
	snprintf(path, sizeof(path), "%s/bare.%d", folder, number);
	snprintf(temporary, sizeof(temporary), "%s/temporary", folder);
	int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int failed = fd < 0 || write(fd, value, SIZE) != SIZE || (sync && fsync(fd) != 0);
	return close(fd) != 0 || failed || rename(temporary, path) != 0;
}

enum what { PUT, WRITE, WRITE_SYNC, HIT, READ, MISS, LOCK, WHAT_COUNT };
static const char *const names[] = {"put 8 KB", "write 8 KB, rename", "write 8 KB, fsync, rename",
	"hit 8 KB", "read 8 KB", "miss", "lock, unlock"};

static int do_one(struct store *store, enum what what, int number)
{
	char key[32];
	struct store_lock *lock;
	switch (what) {
	case PUT:
		return put(store, number, SIZE);
	case WRITE:
	case WRITE_SYNC:
		return write_bare(number, what == WRITE_SYNC);
	case HIT:
		return get(store, number) != STORE_HIT;
	case READ:
		return read_bare(number);
	case MISS:
		return get(store, number + KEYS) != STORE_ABSENT;
	default:
		lock = store_lock(store, key, make_key(key, number));
		store_unlock(lock);
		return !lock;
	}
}

static int run(void)
{
	double us[WHAT_COUNT][ROUNDS], ratio[ROUNDS];
	struct store *store = open_store("store");
	int failed = !store;
	for (int round = -1; round < ROUNDS && !failed; round++) {
		for (int what = 0; what < WHAT_COUNT; what++) {
			double start = bench_now();
			for (int i = 0; i < KEYS; i++) {
				failed |= do_one(store, (enum what)what, i);
			}
			us[what][round < 0 ? 0 : round] = (bench_now() - start) * 1e6 / KEYS;
		}
	}
	store_close(store);
	if (failed) {
		return -1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		ratio[i] = us[HIT][i] / us[READ][i];
	}
	for (int what = 0; what < WHAT_COUNT; what++) {
		bench_report("store", names[what], "us", us[what], ROUNDS);
	}
	bench_report("store", "hit/read", "ratio", ratio, ROUNDS);
	return 0;
}

/* A batch of hits on keys all over the store; us each, negative if one is missing, and how much of
 * that the processor was at it: others may be at work, too. */
static double time_hits(struct store *store, int count, double *cpu_us)
{
	static unsigned seed = 1;
	int failed = 0;
	double start = bench_now(), cpu_start = bench_cpu();
	for (int i = 0; i < 500; i++) {
		failed |= get(store, rand_r(&seed) % count) != STORE_HIT;
	}
	*cpu_us = (bench_cpu() - cpu_start) * 1e6 / 500;
	return failed ? -1 : (bench_now() - start) * 1e6 / 500;
}

static int run_many(void)
{
	double few_us[ROUNDS], many_us[ROUNDS], ratio[ROUNDS], cpu_ratio[ROUNDS];
	struct store *few = open_store("few"), *many = open_store("many");
	int failed = !few || !many;
	for (int i = 0; i < MANY && !failed; i++) {
		failed = put(many, i, SMALL) || (i < FEW && put(few, i, SMALL));
	}
	for (int round = -5; round < ROUNDS && !failed; round++) {
		int slot = round < 0 ? 0 : round;
		double few_cpu, many_cpu;
		few_us[slot] = time_hits(few, FEW, &few_cpu);
		many_us[slot] = time_hits(many, MANY, &many_cpu);
		cpu_ratio[slot] = many_cpu / few_cpu;
		ratio[slot] = many_us[slot] / few_us[slot];
		failed = few_us[slot] < 0 || many_us[slot] < 0;
	}
	store_close(few);
	store_close(many);
	if (failed) {
		return -1;
	}
	bench_report("store", "hit 2 KB among 1,000", "us", few_us, ROUNDS);
	bench_report("store", "hit 2 KB among 100,000", "us", many_us, ROUNDS);
	bench_report("store", "among 100,000/among 1,000", "ratio", ratio, ROUNDS);
	bench_report("store", "among 100,000/among 1,000, processor time", "ratio", cpu_ratio,
		ROUNDS);
	return 0;
}

int main(int argc, char **argv)
{
	const char *place = getenv("TMPDIR");
	snprintf(folder, sizeof(folder), "%.30s/kudzu-bench-XXXXXX", place ? place : "/tmp");
	if (!mkdtemp(folder)) {
		perror(folder);
		return EXIT_FAILURE;
	}
	memset(value, 'x', sizeof(value));
	int failed = argc > 1 && strcmp(argv[1], "many") == 0 ? run_many() : run();
	bench_remove(folder);
	if (failed) {
		fprintf(stderr, "bench_cache: the store in %s failed\n", folder);
	}
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
