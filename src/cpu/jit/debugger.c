/* SPDX-License-Identifier: MIT */
/*
 * gdb's JIT interface ("JIT Compilation Interface" in gdb's manual; lldb has it, too).  The
 * debugger puts a breakpoint into a function of a known name.  When the program calls it, the
 * debugger reads from a list of a known name which object file was added or will go, and takes the
 * lines and the variables from its DWARF.
 */
#include "cpu/jit/debugger.h"

#include "base/alloc.h"

#include <pthread.h>

/* The names and the layout are those of the interface. */
enum debugger_action { DEBUGGER_NOTHING, DEBUGGER_ADDED, DEBUGGER_REMOVED };

struct debugger_code {
	struct debugger_code *next, *previous;
	void *object;
	uint64_t size;
};

struct debugger_list {
	uint32_t version;
	uint32_t action;
	struct debugger_code *relevant;
	struct debugger_code *first;
};

extern struct debugger_list __jit_debug_descriptor;
__attribute__((visibility("default"))) struct debugger_list __jit_debug_descriptor = {.version = 1};

extern __attribute__((visibility("default"))) void __jit_debug_register_code(void);

/* Not inlined, and not empty for the optimizer: the debugger stops here. */
__attribute__((noinline)) void __jit_debug_register_code(void)
{
	__asm__ volatile("" ::: "memory");
}

static pthread_mutex_t debugger_lock = PTHREAD_MUTEX_INITIALIZER;

static void debugger_tell(struct debugger_code *code, enum debugger_action action)
{
	__jit_debug_descriptor.relevant = code;
	__jit_debug_descriptor.action = action;
	__jit_debug_register_code();
	__jit_debug_descriptor.action = DEBUGGER_NOTHING;
	__jit_debug_descriptor.relevant = NULL;
}

struct debugger_code *debugger_add(void *object, size_t size)
{
	struct debugger_code *code = mem_zalloc(1, sizeof(*code));
	if (!code) {
		mem_free(object);
		return NULL;
	}
	code->object = object;
	code->size = size;
	pthread_mutex_lock(&debugger_lock);
	code->next = __jit_debug_descriptor.first;
	if (code->next) {
		code->next->previous = code;
	}
	__jit_debug_descriptor.first = code;
	debugger_tell(code, DEBUGGER_ADDED);
	pthread_mutex_unlock(&debugger_lock);
	return code;
}

void debugger_remove(struct debugger_code *code)
{
	if (!code) {
		return;
	}
	pthread_mutex_lock(&debugger_lock);
	if (code->next) {
		code->next->previous = code->previous;
	}
	if (code->previous) {
		code->previous->next = code->next;
	} else {
		__jit_debug_descriptor.first = code->next;
	}
	debugger_tell(code, DEBUGGER_REMOVED);
	pthread_mutex_unlock(&debugger_lock);
	mem_free(code->object);
	mem_free(code);
}
