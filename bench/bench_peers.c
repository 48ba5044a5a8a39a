/* SPDX-License-Identifier: MIT */
/*
 * Compiles, launches and copies beside PyCUDA, cuda.core, CuPy's RawModule and jitify.
 *
 *	bench_peers [cpu|cuda [CASE]]     run in the folder that has bench/peers_python.py
 *
 * Each peer is a process of its own, which takes orders (peers.h).  They take turns in each round,
 * and each next round begins with another one; a ratio is one of neighbours in time.  All peers run
 * on the same driver: on the CPU device they are started by `kudzu cpu`.  Each has a cache of its
 * own, in a folder that is empty at first.  A peer that is not there has a line that says why.
 *
 * PEERS_PYTHON names the Python that has the packages.  jitify's worker is there if make had
 * JITIFY_INCLUDE.
 */
#include "bench.h"

#include "peers.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS = 5, ROUNDS_MAX = 101 };

/* What the workers call themselves, and what people call them. */
static const char *const names[PEERS] = {"kudzu", "pycuda", "cuda.core", "cupy", "jitify"};
static const char *const titles[PEERS] = {"Kudzu", "PyCUDA", "cuda.core", "CuPy", "jitify"};

/* Where a compile gets its source from. */
enum source { OTHER, NEW, AGAIN, NEXT };

/* What is measured.  The order of a compile ends with a number. */
static const struct row {
	const char *name;
	const char *order;
	enum source source;
	int rounds;
} rows[] = {
	{"a new source", "compile", NEW, 21},
	{"a source again, same process", "compile", AGAIN, 21},
	{"a source again, next process", "compile", NEXT, 21},
	{"launch of 1 argument", "launch 1 500", OTHER, 101},
	{"launch of 6 arguments", "launch 6 500", OTHER, 101},
	{"launch of 6 arguments, prepared", "prepared 6 500", OTHER, 101},
	{"htod, pageable, 4 KiB", "htod pageable 4096 200", OTHER, 101},
	{"htod, pageable, 1 MiB", "htod pageable 1048576 20", OTHER, 101},
	{"htod, pageable, 1 GiB", "htod pageable 1073741824 1", OTHER, 21},
	{"htod, pinned, 4 KiB", "htod pinned 4096 200", OTHER, 101},
	{"htod, pinned, 1 MiB", "htod pinned 1048576 20", OTHER, 101},
	{"htod, pinned, 1 GiB", "htod pinned 1073741824 1", OTHER, 21},
	{"dtoh, pageable, 4 KiB", "dtoh pageable 4096 200", OTHER, 101},
	{"dtoh, pageable, 1 MiB", "dtoh pageable 1048576 20", OTHER, 101},
	{"dtoh, pageable, 1 GiB", "dtoh pageable 1073741824 1", OTHER, 21},
	{"dtoh, pinned, 4 KiB", "dtoh pinned 4096 200", OTHER, 101},
	{"dtoh, pinned, 1 MiB", "dtoh pinned 1048576 20", OTHER, 101},
	{"dtoh, pinned, 1 GiB", "dtoh pinned 1073741824 1", OTHER, 21},
};

struct peer {
	pid_t pid; /* 0: it is not running */
	FILE *to, *from;
	char name[80]; /* with its version */
	double seconds[ROUNDS_MAX];
	bool takes_part; /* in the row that is measured */
};

struct peers {
	const char *device;
	char build[PATH_MAX - 64];
	char work[PATH_MAX - 64];
	struct peer peer[PEERS];
	int serial; /* of the last new source */
};

/* The process of a peer: its own caches, then the program. */
static void peer_become(const struct peers *p, int index)
{
	char folder[PATH_MAX], command[PATH_MAX], jitify[PATH_MAX];
	const char *python = getenv("PEERS_PYTHON");
	const char *argv[10], **arg = argv; /* the longest has 9 */
	snprintf(folder, sizeof(folder), "%s/%s", p->work, names[index]);
	mkdir(folder, 0700);
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", folder, 1); /* the CPU device's driver has one, too */
	setenv("PYCUDA_CACHE_DIR", folder, 1);
	setenv("CUPY_CACHE_DIR", folder, 1);
	setenv("CUDA_CACHE_DISABLE", "1", 1); /* NVIDIA's */
	if (index == 0) {
		execl("/proc/self/exe", "bench_peers", "--worker", p->device, (char *)NULL);
		_exit(127);
	}
	snprintf(command, sizeof(command), "%s/kudzu", p->build);
	snprintf(jitify, sizeof(jitify), "%s/bench/peers_jitify", p->build);
	if (strcmp(p->device, "cpu") == 0) {
		*arg++ = command;
		*arg++ = "cpu";
		*arg++ = "--";
	}
	if (strcmp(names[index], "jitify") == 0) {
		*arg++ = jitify;
	} else {
		*arg++ = python ? python : "python3";
		*arg++ = "bench/peers_python.py";
		*arg++ = names[index];
	}
	*arg++ = p->device;
	*arg++ = folder;
	*arg = NULL;
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static void peer_stop(struct peer *peer)
{
	if (peer->pid > 0) {
		fclose(peer->to);
		fclose(peer->from);
		waitpid(peer->pid, NULL, 0);
	}
	peer->pid = 0;
}

/* Start it and read what it first says; `line` has that, or nothing. */
static bool peer_start(struct peers *p, int index, char *line, int size)
{
	struct peer *peer = &p->peer[index];
	int to[2], from[2];
	/* The next peer must not have them, or this one would never read the end. */
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC)) {
		perror("bench_peers");
		exit(EXIT_FAILURE);
	}
	fflush(stdout);
	peer->pid = fork();
	if (peer->pid == 0) {
		dup2(to[0], STDIN_FILENO);
		dup2(from[1], STDOUT_FILENO);
		peer_become(p, index);
	}
	close(to[0]);
	close(from[1]);
	peer->to = fdopen(to[1], "w");
	peer->from = fdopen(from[0], "r");
	line[0] = '\0';
	if (!fgets(line, size, peer->from) || strncmp(line, "ready ", 6) != 0) {
		peer_stop(peer);
	}
	line[strcspn(line, "\n")] = '\0';
	return peer->pid > 0;
}

/* Start one for the first time, or print why it is not there. */
static void peer_introduce(struct peers *p, int index)
{
	char line[400];
	char worker[PATH_MAX];
	struct peer *peer = &p->peer[index];
	snprintf(worker, sizeof(worker), "%s/bench/peers_jitify", p->build);
	const char *why = "not installed";
	if (strcmp(names[index], "jitify") != 0 || access(worker, X_OK) == 0) {
		if (peer_start(p, index, line, sizeof(line))) {
			snprintf(peer->name, sizeof(peer->name), "%.79s", line + 6);
			return;
		}
		why = strncmp(line, "absent ", 7) == 0 ? line + 7
			: "not measured: it did not start";
	}
	printf("{\"case\":\"peers\",\"what\":\"%s\",\"note\":\"", titles[index]);
	for (; *why; why++) { /* no string of these lines has a quote in it */
		putchar(*why == '"' || *why == '\\' ? '\'' : *why);
	}
	puts("\"}");
}

/* Carry out an order; false if the peer has no such thing, or failed. */
static bool peer_ask(struct peer *peer, const char *order, double *seconds)
{
	char line[400] = "";
	if (fprintf(peer->to, "%s\n", order) < 0 || fflush(peer->to)
	    || !fgets(line, sizeof(line), peer->from)) {
		snprintf(line, sizeof(line), "failed: it has ended\n");
	}
	if (sscanf(line, "ok %lf", seconds) == 1) {
		return true;
	}
	if (strcmp(line, "none\n") != 0) {
		fprintf(stderr, "bench_peers: %s: %s: %s", peer->name, order, line);
	}
	return false;
}

static bool row_ask(struct peers *p, const struct row *row, int index, double *seconds)
{
	char order[80], line[400];
	snprintf(order, sizeof(order), "%s", row->order);
	if (row->source != OTHER) {
		int number = row->source == NEW ? p->serial : 0;
		snprintf(order, sizeof(order), "%s %d", row->order, number);
	}
	if (row->source == NEXT) {
		peer_stop(&p->peer[index]);
		if (!peer_start(p, index, line, sizeof(line))) {
			fprintf(stderr, "bench_peers: %s: started again: %s\n", p->peer[index].name,
				line);
			return false;
		}
	}
	return peer_ask(&p->peer[index], order, seconds);
}

/* One round that is not measured, then the others. */
static void row_measure(struct peers *p, const struct row *row)
{
	for (int round = -1; round < row->rounds; round++) {
		p->serial++;
		for (int turn = 0; turn < PEERS; turn++) {
			int index = (turn + round + PEERS) % PEERS;
			struct peer *peer = &p->peer[index];
			double seconds = 0;
			if (round < 0) {
				peer->takes_part = peer->pid > 0;
			}
			if (peer->takes_part) {
				peer->takes_part = row_ask(p, row, index, &seconds);
			}
			if (round >= 0) {
				peer->seconds[round] = seconds;
			}
		}
	}
}

static void row_report(struct peers *p, const struct row *row)
{
	double samples[ROUNDS_MAX];
	char name[100], what[100];
	snprintf(name, sizeof(name), "peers: %s", row->name);
	for (int i = 0; i < PEERS; i++) {
		const struct peer *peer = &p->peer[i];
		if (!peer->takes_part) {
			continue;
		}
		for (int round = 0; round < row->rounds; round++) {
			samples[round] = peer->seconds[round] * 1e6;
		}
		bench_report(name, peer->name, "us", samples, row->rounds);
		if (i == 0 || !p->peer[0].takes_part) {
			continue;
		}
		for (int round = 0; round < row->rounds; round++) {
			samples[round] = p->peer[0].seconds[round] / peer->seconds[round];
		}
		snprintf(what, sizeof(what), "kudzu/%s", peer->name);
		bench_report(name, what, "ratio", samples, row->rounds);
	}
	fflush(stdout);
}

/* The folder of the build has bench/bench_peers. */
static bool peers_find_build(struct peers *p)
{
	ssize_t length = readlink("/proc/self/exe", p->build, sizeof(p->build) - 1);
	for (int up = 0; up < 2 && length > 0; up++) {
		p->build[length] = '\0';
		char *slash = strrchr(p->build, '/');
		length = slash ? slash - p->build : -1;
	}
	if (length > 0) {
		p->build[length] = '\0';
	}
	return length > 0;
}

int main(int argc, char **argv)
{
	static struct peers p;
	const char *folder = getenv("TMPDIR");
	bool failed = false;
	if (argc == 3 && strcmp(argv[1], "--worker") == 0) {
		return peers_kudzu(argv[2]);
	}
	p.device = argc > 1 ? argv[1] : "cpu";
	snprintf(p.work, sizeof(p.work), "%s/bench_peers.XXXXXX", folder ? folder : "/tmp");
	if (!peers_find_build(&p) || !mkdtemp(p.work)) {
		perror("bench_peers");
		return EXIT_FAILURE;
	}
	for (int i = 0; i < PEERS; i++) {
		peer_introduce(&p, i);
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && p.peer[0].pid > 0; i++) {
		if (argc < 3 || strstr(rows[i].name, argv[2])) {
			row_measure(&p, &rows[i]);
			row_report(&p, &rows[i]);
			failed = failed || !p.peer[0].takes_part;
		}
	}
	failed = failed || p.peer[0].pid <= 0;
	for (int i = 0; i < PEERS; i++) {
		peer_stop(&p.peer[i]);
	}
	bench_remove(p.work);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
