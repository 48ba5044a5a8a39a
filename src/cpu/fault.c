/* SPDX-License-Identifier: MIT */
/*
 * Hardware faults of compiled code.  The handlers ask one thread-local pointer: while it is set
 * this thread runs a kernel, and the fault is ours; else the handler that was there before gets
 * it, or the default action.  The pointer is in static TLS, because anything else could call
 * malloc from within the handler.  The handler puts the signal mask back before it jumps, so that
 * sigsetjmp need not save one, which would cost a system call per launch.
 *
 * Somebody may install a handler above ours that passes faults on to us, and still do so after we
 * have removed ours and put it on top again.  Then there are two to pass on to: the one above, and
 * when it comes back to us, the one below.
 */
#include "../base/common.h"

#include "fault.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#define FAULTS 4

static const int fault_signals[FAULTS] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};

static struct chain {
	struct sigaction below;
	struct sigaction above;
	bool has_above;
	bool is_buried;   /* removed, but somebody may still pass on to us */
} chains[FAULTS];

static _Thread_local struct fault_catch *volatile armed
	__attribute__((tls_model("initial-exec")));
static _Thread_local volatile bool passing __attribute__((tls_model("initial-exec")));

static void pass_on(const struct sigaction *old, int number, siginfo_t *info, void *context)
{
	if (old->sa_flags & SA_SIGINFO) {
		old->sa_sigaction(number, info, context);
	} else if (old->sa_handler == SIG_DFL || (old->sa_handler == SIG_IGN && info->si_code > 0)) {
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
	// si_code is positive for what the hardware found, not for what kill() sends.
	if (target != NULL && info->si_code > 0) {
		armed = NULL;
		target->signal = number;
		target->address = (uintptr_t)info->si_addr;
		// x86 does not tell the address if it is not a canonical one.
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
			pass_on(&chains[i].above, number, info, context);
			passing = false;
		} else {
			pass_on(&chains[i].below, number, info, context);
		}
	}
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static void remove_first(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct chain *chain = &chains[i];
		struct sigaction now;
		if (sigaction(fault_signals[i], NULL, &now) == 0 && is_ours(&now)) {
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
	for (size_t i = 0; i < FAULTS; i++) {
		struct chain *chain = &chains[i];
		struct sigaction old;
		struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
		ours.sa_sigaction = on_fault;
		sigemptyset(&ours.sa_mask);
		if (sigaction(fault_signals[i], NULL, &old) != 0) {
			remove_first(i);
			return false;
		}
		if (chain->is_buried && !is_ours(&old)) {
			chain->above = old;
			chain->has_above = true;
		} else if (!is_ours(&old)) {
			chain->below = old;
		}
		if (sigaction(fault_signals[i], &ours, NULL) != 0) {
			remove_first(i);
			return false;
		}
	}
	return true;
}

void fault_remove(void)
{
	remove_first(FAULTS);
}

bool fault_unblock(sigset_t *old)
{
	sigset_t faults;
	bool was_blocked = false;
	sigemptyset(&faults);
	for (size_t i = 0; i < FAULTS; i++) {
		sigaddset(&faults, fault_signals[i]);
	}
	if (pthread_sigmask(SIG_UNBLOCK, &faults, old) != 0) {
		return false;
	}
	for (size_t i = 0; i < FAULTS; i++) {
		was_blocked |= sigismember(old, fault_signals[i]) == 1;
	}
	return was_blocked;
}

void fault_arm(struct fault_catch *target)
{
	armed = target;
}

void fault_disarm(void)
{
	armed = NULL;
}
