/* SPDX-License-Identifier: MIT */
/*
 * Hardware faults of compiled code.  The handlers look at one thread-local pointer.  While it is
 * set the thread runs a kernel, and the fault is ours.  Otherwise the handler of before gets the
 * fault, or the default action happens.
 *
 * The pointer is in static TLS, because any other model could call malloc inside the handler.  The
 * handler restores the signal mask before it jumps, so that sigsetjmp need not save it, which would
 * take a system call in each launch.
 *
 * Another library may install a handler above ours that passes faults on to us, and may go on doing
 * so after we have removed our handler and installed it again on top.  Then there are two handlers
 * to pass faults on to: the one above, and, when it comes back to us, the one below.
 */
#include "base/common.h"

#include "cpu/mem/fault.h"

#include "cpu/mem/system_refusal.h"
#include "cpu/mem/share.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#define FAULTS 4

static const int fault_signals[FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
static sigset_t fault_set; /* the same, valid after fault_install */

static struct chain {
	struct sigaction below;
	struct sigaction above;
	bool has_above;
	bool is_buried;   /* removed, but another handler may still pass faults on to us */
} chains[FAULTS];

static _Thread_local struct fault_catch *volatile armed;
static _Thread_local volatile int held;
static _Thread_local volatile bool passing;
static _Thread_local bool is_open; /* no signal is blocked, and only our code runs */

static void fault_pass_on(const struct sigaction *old, int number, siginfo_t *info, void *context)
{
	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(number, info, context);
	} else if (old->sa_handler == SIG_DFL
		|| (old->sa_handler == SIG_IGN && info->si_code > 0)) {
		// The instruction faults again, or the signal is sent again, without us.
		signal(number, SIG_DFL);
		if (info->si_code <= 0) {
			raise(number);
		}
	} else if (old->sa_handler != SIG_IGN) {
		old->sa_handler(number);
	}
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	struct fault_catch *target = armed;
	// si_code is positive for faults of the hardware, but not for signals of kill().
	if (number == SIGSEGV && info->si_code > 0
	    && share_may_retry((uintptr_t)info->si_addr)) {
		return;
	}
	if (target && info->si_code > 0) {
		armed = NULL;
		target->signal = number;
		target->address = (uintptr_t)info->si_addr;
		// x86 does not report an address that is not canonical.
		target->has_address = (number == SIGSEGV || number == SIGBUS)
			&& info->si_code != SI_KERNEL;
		pthread_sigmask(SIG_SETMASK, &((ucontext_t *)context)->uc_sigmask, NULL);
		siglongjmp(target->env, 1);
	}
	for (size_t i = 0; i < FAULTS; i++) {
		if (fault_signals[i] != number) {
			continue;
		}
		if (chains[i].has_above && !passing) {
			passing = true;
			fault_pass_on(&chains[i].above, number, info, context);
			passing = false;
		} else {
			fault_pass_on(&chains[i].below, number, info, context);
		}
	}
}

static bool fault_is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static void fault_remove_first(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct chain *chain = &chains[i];
		struct sigaction now;
		if (sigaction(fault_signals[i], NULL, &now) == 0 && fault_is_ours(&now)) {
			sigaction(fault_signals[i],
				chain->has_above ? &chain->above : &chain->below, NULL);
			chain->is_buried = chain->has_above;
		} else {
			chain->is_buried = true;
		}
		chain->has_above = false;
	}
}

bool fault_install(void)
{
	sigemptyset(&fault_set);
	for (size_t i = 0; i < FAULTS; i++) {
		struct chain *chain = &chains[i];
		struct sigaction old;
		struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
		sigaddset(&fault_set, fault_signals[i]);
		ours.sa_sigaction = on_fault;
		sigemptyset(&ours.sa_mask);
		// An interrupt would leave the handler half done, and this signal blocked.
		sigaddset(&ours.sa_mask, FAULT_INTERRUPT);
		if (sigaction(fault_signals[i], NULL, &old) != 0) {
			refusal_note("sigaction");
			fault_remove_first(i);
			return false;
		}
		if (chain->is_buried && !fault_is_ours(&old)) {
			chain->above = old;
			chain->has_above = true;
		} else if (!fault_is_ours(&old)) {
			chain->below = old;
		}
		if (sigaction(fault_signals[i], &ours, NULL) != 0) {
			fault_remove_first(i);
			return false;
		}
	}
	return true;
}

void fault_remove(void)
{
	fault_remove_first(FAULTS);
}

bool fault_unblock(sigset_t *old)
{
	bool was_blocked = false;
	if (is_open || pthread_sigmask(SIG_UNBLOCK, &fault_set, old) != 0
	    || sigisemptyset(old)) {
		return false;
	}
	for (size_t i = 0; i < FAULTS; i++) {
		was_blocked |= sigismember(old, fault_signals[i]) == 1;
	}
	return was_blocked;
}

bool fault_stay_open(bool open)
{
	bool before = is_open;
	is_open = open;
	return before;
}

/*
 * A thread that interrupts another one moves the state of its target from ARMED to INTERRUPTING and
 * sends the signal; the handler moves it back.  A signal that comes in another state is too late.
 * Before it looks at the state, the thread says in is_sending that it is about to send, for
 * fault_disarm, which waits: the signal must go to a thread that exists.
 */
enum { IDLE, ARMED, INTERRUPTING };

void fault_arm(struct fault_catch *target)
{
	target->thread = pthread_self();
	atomic_store_explicit(&target->is_late, false, memory_order_relaxed);
	target->call = NULL;
	held = 0;
	armed = target;
	atomic_store_explicit(&target->state, ARMED, memory_order_release);
}

void fault_disarm(struct fault_catch *target)
{
	atomic_store(&target->state, IDLE);
	while (unlikely(atomic_load(&target->is_sending))) {
		sched_yield();
	}
	armed = NULL;
}

/* --- Interrupting --- */

static struct sigaction before_interrupt;

static _Noreturn void fault_leave(struct fault_catch *target, const sigset_t *mask)
{
	armed = NULL;
	target->signal = FAULT_INTERRUPT;
	target->has_address = false;
	if (mask) {
		// From here on another interrupt may come: it finds that nothing is armed.
		pthread_sigmask(SIG_SETMASK, mask, NULL);
	}
	siglongjmp(target->env, 1);
}

/* Interrupts that come while a thread leaves must not leave, too: they would nest until the
 * alternate stack is full.  So only one of them gets to change the state, and the signal stays
 * blocked until nothing is armed. */
static void fault_on_interrupt(int number, siginfo_t *info, void *context)
{
	struct fault_catch *target = armed;
	const struct sigaction *old = &before_interrupt;
	int state = INTERRUPTING;
	if (target && info->si_code == SI_TKILL && info->si_pid == getpid()
	    && atomic_compare_exchange_strong(&target->state, &state, ARMED)) {
		if (held == 0) {
			fault_leave(target, &((ucontext_t *)context)->uc_sigmask);
		}
		atomic_store(&target->is_late, true);
	} else if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(number, info, context);
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(number);
	}
}

static bool fault_catches_interrupts(void)
{
	struct sigaction now;
	// Where a late signal comes, no system call of the program may fail.
	struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	ours.sa_sigaction = fault_on_interrupt;
	sigemptyset(&ours.sa_mask);
	if (sigaction(FAULT_INTERRUPT, NULL, &now) != 0) {
		return false;
	}
	if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fault_on_interrupt) {
		return true;
	}
	before_interrupt = now;
	return sigaction(FAULT_INTERRUPT, &ours, NULL) == 0;
}

void fault_interrupt(struct fault_catch *target)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int state = ARMED;
	pthread_mutex_lock(&lock);
	atomic_store(&target->is_sending, true);
	const bool is_sent = fault_catches_interrupts()
		&& atomic_compare_exchange_strong(&target->state, &state, INTERRUPTING)
		&& pthread_kill(target->thread, FAULT_INTERRUPT) == 0;
	atomic_store(&target->is_sending, false);
	// Give it time to come: a signal that comes after this is too late.
	for (int i = 0; is_sent && i < 1000 && atomic_load(&target->state) == INTERRUPTING; i++) {
		sched_yield();
	}
	state = INTERRUPTING;
	atomic_compare_exchange_strong(&target->state, &state, ARMED);
	pthread_mutex_unlock(&lock);
}

void fault_hold(void)
{
	held++;
}

void fault_release(void)
{
	struct fault_catch *target = armed;
	held--;
	if (held == 0 && target && atomic_load(&target->is_late)) {
		fault_leave(target, NULL);
	}
}

void fault_name(const char *call)
{
	struct fault_catch *target = armed;
	if (target) {
		target->call = call;
	}
}
