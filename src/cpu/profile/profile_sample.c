/* SPDX-License-Identifier: MIT */
/*
 * Samples: where in its code a thread is, after every millisecond of processor time.
 *
 * Each thread that runs kernels has a timer of its own, which counts the time that the thread runs
 * and sends SIGPROF to it.  The operating system looks at such timers at its own ticks, which may
 * be further apart; then one signal stands for several samples.
 *
 * The handler counts in an array of the code, by the byte where the thread is.  A thread may be in
 * a function that the code has called.  The handler then takes the first word on the stack that
 * points into the code for the address to which that function returns.  A thread on its alternate
 * signal stack is in a handler of the program, and what lies between the two stacks is unknown.
 *
 * The timers are made by system calls, since older C libraries have the functions for them in a
 * library of its own.  A SIGPROF of another origin goes to the handler that was there before.
 */
#define _GNU_SOURCE
#include "base/common.h"

#include "cpu/profile/profile_kernel.h"

#include "cpu/mem/fault.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SAMPLE_NS = 1000000 };

/* What the handler needs of its thread. */
struct sample_thread {
	struct profile_code *volatile code; /* that runs; NULL: none */
	const uintptr_t *volatile stack;    /* where its stack ends */
	int timer;                          /* the number that the kernel gave it */
	bool has_timer;
};

static _Thread_local struct sample_thread sample_mine;
static struct sigaction sample_before;
static pthread_key_t sample_key;
static bool sample_has_key;
static const char sample_mark; /* its address says that a signal is of our timers */

/* Where the code was left for what it calls; 0: it is not on the stack. */
static uintptr_t sample_find_return(const struct profile_code *code, uintptr_t top,
	const uintptr_t *end)
{
	const uintptr_t *at = (const uintptr_t *)round_up(top, sizeof(uintptr_t));
	for (; at < end; at++) {
		if (*at - code->begin < code->size) {
			return *at - 1; /* within the call */
		}
	}
	return 0;
}

static bool sample_is_on(const stack_t *stack, uintptr_t top)
{
	return top - (uintptr_t)stack->ss_sp < stack->ss_size;
}

static void sample_take(struct profile_code *code, const ucontext_t *context, unsigned count)
{
#ifdef __x86_64__
	uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	const uintptr_t top = (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#else
	uintptr_t at = (uintptr_t)context->uc_mcontext.pc;
	const uintptr_t top = (uintptr_t)context->uc_mcontext.sp;
#endif
	if (code->size == 0) {
		return;
	}
	if (at - code->begin >= code->size) {
		at = sample_is_on(&context->uc_stack, top) ? 0
			: sample_find_return(code, top, sample_mine.stack);
	}
	atomic_uint *slot = at - code->begin < code->size ? &code->samples[at - code->begin]
		: &code->elsewhere;
	atomic_fetch_add_explicit(slot, count, memory_order_relaxed);
}

static void sample_on_signal(int number, siginfo_t *info, void *context)
{
	const int saved = errno;
	struct profile_code *code = sample_mine.code;
	const struct sigaction *old = &sample_before;
	if (info->si_code == SI_TIMER && info->si_value.sival_ptr == &sample_mark) {
		if (code) {
			sample_take(code, context, 1 + (unsigned)info->si_overrun);
		}
	} else if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(number, info, context);
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(number);
	}
	errno = saved;
}

/* A thread ends. */
static void sample_end_thread(void *mine)
{
	struct sample_thread *thread = mine;
	syscall(SYS_timer_delete, thread->timer);
}

static void sample_start(void)
{
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	ours.sa_sigaction = sample_on_signal;
	sigemptyset(&ours.sa_mask);
	/* Who leaves the handler of that signal by a jump must not leave this one half done. */
	sigaddset(&ours.sa_mask, FAULT_INTERRUPT);
	sample_has_key = pthread_key_create(&sample_key, sample_end_thread) == 0
		&& sigaction(SIGPROF, &ours, &sample_before) == 0;
}

void profile_sample_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, sample_start);
}

/* Without a timer the thread has no samples. */
static void sample_begin_thread(struct sample_thread *mine)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF,
		.sigev_value.sival_ptr = (void *)&sample_mark};
	const struct itimerspec often = {{0, SAMPLE_NS}, {0, SAMPLE_NS}};
#ifdef sigev_notify_thread_id
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
#else
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#endif
	mine->has_timer = true;
	if (sample_has_key && syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, &event,
			&mine->timer) == 0) {
		pthread_setspecific(sample_key, mine);
		syscall(SYS_timer_settime, mine->timer, 0, &often, NULL);
	}
}

void profile_run(struct profile_code *code, const void *stack)
{
	struct sample_thread *mine = &sample_mine;
	if (code && code->size > 0 && !mine->has_timer) {
		sample_begin_thread(mine);
	}
	mine->stack = stack;
	mine->code = code;
}
