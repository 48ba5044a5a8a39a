/* SPDX-License-Identifier: MIT */
/* Threads that are made to leave what they run. */
#include "base/common.h"

#include "cpu/mem/fault.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How many of two signals come beside the other: the thread sanitizer makes one of them. */
#if defined(__SANITIZE_THREAD__)
#define BESIDE 0
#else
#define BESIDE 1
#endif

static struct fault_catch target;
static atomic_bool is_running;          /* the thread that is to leave */
static volatile sig_atomic_t passed_on; /* signals that were not ours, or too late */

static void count_signal(int number)
{
	(void)number;
	passed_on++;
}

static void block_interrupts(int how)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, FAULT_INTERRUPT);
	ck_assert_int_eq(pthread_sigmask(how, &set, NULL), 0);
}

static bool has_interrupt(void)
{
	sigset_t set;
	return sigpending(&set) == 0 && sigismember(&set, FAULT_INTERRUPT) == 1;
}

/* A second one, which the system keeps beside that of fault_interrupt: it is for the process. */
static void send_interrupt(void)
{
	siginfo_t info = {.si_signo = FAULT_INTERRUPT, .si_code = SI_TKILL};
	info.si_pid = getpid();
	ck_assert_int_eq(syscall(SYS_rt_sigqueueinfo, getpid(), FAULT_INTERRUPT, &info), 0);
}

static void *interrupt(void *arg)
{
	(void)arg;
	while (atomic_load(&is_running)) {
		fault_interrupt(&target);
		sched_yield();
	}
	return NULL;
}

/* False if both signals came too late. */
static bool leaves_with_two_interrupts(void)
{
	target.signal = 0;
	passed_on = 0;
	block_interrupts(SIG_BLOCK);
	if (sigsetjmp(target.env, 0) == 0) {
		fault_arm(&target);
		while (!has_interrupt()) {
			sched_yield();
		}
		send_interrupt();
		block_interrupts(SIG_UNBLOCK);
	}
	fault_disarm(&target);
	return target.signal == FAULT_INTERRUPT;
}

/* The handler unblocks the signal, so another one interrupts it.  If that left, too, handlers would
 * nest until the alternate stack is full. */
START_TEST(thread_that_leaves_does_not_leave_again)
{
	pthread_t thread;
	struct sigaction action = {.sa_handler = count_signal};
	ck_assert_int_eq(sigaction(FAULT_INTERRUPT, &action, NULL), 0);
	block_interrupts(SIG_BLOCK); /* in the other thread */
	atomic_store(&is_running, true);
	ck_assert_int_eq(pthread_create(&thread, NULL, interrupt, NULL), 0);
	while (!leaves_with_two_interrupts()) {
	}
	ck_assert_int_ge(passed_on, BESIDE);
	atomic_store(&is_running, false);
	pthread_join(thread, NULL);
}
END_TEST

/* It would go on with the signal of the fault blocked, and the next fault would end the process. */
START_TEST(handler_of_a_fault_is_not_interrupted)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	ck_assert(fault_install());
	struct sigaction now;
	ck_assert_int_eq(sigaction(faults[_i], NULL, &now), 0);
	ck_assert_int_eq(sigismember(&now.sa_mask, FAULT_INTERRUPT), 1);
	fault_remove();
}
END_TEST

SUITE(fault)
{
	Suite *suite = suite_create("fault");
	TCase *tc = suite_add_case(suite, "interrupts");
	tcase_add_test(tc, thread_that_leaves_does_not_leave_again);
	tcase_add_loop_test(tc, handler_of_a_fault_is_not_interrupted, 0, 4);
	return suite;
}
