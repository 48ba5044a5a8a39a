/* SPDX-License-Identifier: MIT */
#ifndef PEERS_H
#define PEERS_H

/*
 * The language between bench_peers and its workers: Kudzu's (peers_kudzu.c), those of Python
 * (peers_python.py) and jitify's (peers_jitify.cpp).
 *
 * A worker first says "ready NAME", once it has a device, or "absent REASON".  Then each line is an
 * order, and each answer is one of "ok SECONDS", "none" for what the peer does not have, and
 * "failed REASON".
 *
 *	compile NUMBER                    the source below, with that number: from the text to the
 *	                                  end of its first launch
 *	launch ARGUMENTS CALLS            one call of so many, without the wait at their end
 *	prepared ARGUMENTS CALLS          the same, with what can be done before done before
 *	htod pageable|pinned BYTES CALLS  one copy of so many; likewise dtoh
 *
 * A worker checks what it has measured, outside of the time.  The Python worker has the same
 * sources.
 */

/* A kernel that nobody has seen, or that was compiled before: its number tells. */
#define PEERS_NUMBERED \
	"extern \"C\" __global__ void numbered(int *x, int n)\n" \
	"{\n" \
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n" \
	"	if (i < n) {\n" \
	"		x[i] = %d + i;\n" \
	"	}\n" \
	"}\n"

/* Each launch of either adds 1 to what its last pointer names. */
#define PEERS_LAUNCHED \
	"extern \"C\" __global__ void one(float *y)\n" \
	"{\n" \
	"	y[0] += 1;\n" \
	"}\n" \
	"extern \"C\" __global__ void six(float a, const float *x, float *y, int n,\n" \
	"	long long step, double b)\n" \
	"{\n" \
	"	y[0] += a * x[0] * n * step * (float)b;\n" \
	"}\n"

/* Threads of the kernel `numbered`; its n. */
enum { PEERS_THREADS = 32 };

/* Kudzu's worker: its exit status. */
int peers_kudzu(const char *device);

#endif
