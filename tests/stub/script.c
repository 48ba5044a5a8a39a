/* SPDX-License-Identifier: MIT */
/* The stub's exported symbols and its script; see stub.h. */
#include "base/common.h"

#include "stub.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { RULES_MAX = 128 };

static struct rule {
	enum drv_symbol symbol;
	CUresult code;
	long first;
	long last;
} rules[RULES_MAX];
static size_t rule_count;
static bool absent[DRV_SYMBOL_COUNT];

struct stub_state stub;

static const struct {
	const char *symbol;
	const char *call;
	int since;
} symbols[DRV_SYMBOL_COUNT] = {
#define X(name, symbol, since, need, parameters) {#symbol, "cu" #name, since},
#include "lib/cuda/cuda.def"
#undef X
};

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define X(name, symbol, since, need, parameters)                                                   \
	__attribute__((weak)) CUresult do_##name parameters                                        \
	{                                                                                          \
		return stub_enter(DRV_cu##name);                                                   \
	}
#include "lib/cuda/cuda.def"
#undef X

static bool exists(enum drv_symbol symbol)
{
	return !absent[symbol] && symbols[symbol].since <= stub.version;
}

#define X(name, symbol, since, need, parameters)                                                   \
	__attribute__((used)) static CUresult(*resolve_##name(void)) parameters                    \
	{                                                                                          \
		return exists(DRV_cu##name) ? do_##name : NULL;                                    \
	}                                                                                          \
	EXPORT CUresult symbol parameters __attribute__((ifunc("resolve_" #name)));
#include "lib/cuda/cuda.def"
#undef X

CUresult stub_scripted(enum drv_symbol symbol, long call)
{
	for (size_t i = 0; i < rule_count; i++) {
		const struct rule *rule = &rules[i];
		if (rule->symbol == symbol && call >= rule->first && call <= rule->last) {
			return rule->code;
		}
	}
	return CUDA_SUCCESS;
}

/* DRV_SYMBOL_COUNT if there is no such symbol. */
static enum drv_symbol symbol_find(const char *name)
{
	int i = 0;
	while (i < DRV_SYMBOL_COUNT && strcmp(symbols[i].symbol, name) != 0
		&& strcmp(symbols[i].call, name) != 0) {
		i++;
	}
	return (enum drv_symbol)i;
}

/* A script that cannot be meant would make its test pass for the wrong reason. */
static void bad_script(const char *what, const char *text)
{
	fprintf(stderr, "stub: %s: '%s'\n", what, text);
	abort();
}

static enum drv_symbol symbol_named(const char *name)
{
	enum drv_symbol symbol = symbol_find(name);
	if (symbol == DRV_SYMBOL_COUNT) {
		bad_script("no such symbol", name);
	}
	return symbol;
}

/* NAME:CODE, NAME:CODE@N, NAME:CODE@N+ */
static void rule_add(char *text)
{
	char *colon = strchr(text, ':');
	if (!colon || rule_count == RULES_MAX) {
		bad_script("bad rule, or too many", text);
	}
	*colon = '\0';
	char *end;
	struct rule rule = {.symbol = symbol_named(text), .first = 1, .last = LONG_MAX};
	rule.code = (CUresult)strtol(colon + 1, &end, 10);
	if (*end == '@') {
		rule.first = strtol(end + 1, &end, 10);
		rule.last = *end == '+' ? LONG_MAX : rule.first;
		end += *end == '+';
	}
	if (*end) {
		bad_script("bad end of a rule", end);
	}
	rules[rule_count++] = rule;
	stub.scripted = true;
}

static void missing_add(char *names)
{
	char *rest;
	for (char *name = strtok_r(names, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
		absent[symbol_named(name)] = true;
	}
}

static void copy_text(char *to, size_t size, const char *text)
{
	if ((size_t)snprintf(to, size, "%s", text) >= size) {
		bad_script("too long", text);
	}
}

static void setting(char *key, char *value)
{
	if (strcmp(key, "fail") == 0) {
		rule_add(value);
	} else if (strcmp(key, "init") == 0) {
		char rule[64];
		snprintf(rule, sizeof(rule), "cuInit:%s", value);
		rule_add(rule);
	} else if (strcmp(key, "missing") == 0) {
		missing_add(value);
	} else if (strcmp(key, "version") == 0) {
		stub.version = atoi(value);
	} else if (strcmp(key, "devices") == 0) {
		stub.devices = atoi(value);
	} else if (strcmp(key, "clear") == 0) {
		stub.clear = atoi(value);
	} else if (strcmp(key, "ptx") == 0) {
		stub.ptx = atoi(value);
	} else if (strcmp(key, "cc") == 0) {
		stub.cc = atoi(value);
	} else if (strcmp(key, "memory") == 0) {
		stub.memory = strtoull(value, NULL, 10);
	} else if (strcmp(key, "functions") == 0) {
		copy_text(stub.functions, sizeof(stub.functions), value);
	} else if (strcmp(key, "globals") == 0) {
		copy_text(stub.globals, sizeof(stub.globals), value);
	} else if (strcmp(key, "streams") == 0) {
		stub.notes_streams = atoi(value) != 0;
	} else if (strcmp(key, "log") == 0) {
		copy_text(stub.log, sizeof(stub.log), value);
	} else {
		bad_script("no such key", key);
	}
}

/* Work in streams: a row for each symbol and stream. */

enum { WORK_MAX = 512 };

static struct work {
	enum drv_symbol symbol;
	CUstream stream;
	long count;
} works[WORK_MAX];
static int work_count;
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER; /* guards both */

CUresult stub_enter_stream(enum drv_symbol symbol, CUstream stream)
{
	int i = 0;
	if (!stub.notes_streams) {
		return stub_enter_context(symbol);
	}
	pthread_mutex_lock(&work_lock);
	while (i < work_count && (works[i].symbol != symbol || works[i].stream != stream)) {
		i++;
	}
	if (i == work_count && work_count < WORK_MAX) {
		works[work_count++] = (struct work){symbol, stream, 0};
	}
	works[i < WORK_MAX ? i : WORK_MAX - 1].count++;
	pthread_mutex_unlock(&work_lock);
	return stub_enter_context(symbol);
}

EXPORT long stub_work(const char *name, void *stream)
{
	long count = 0;
	pthread_mutex_lock(&work_lock);
	for (int i = 0; i < work_count; i++) {
		if ((!name || works[i].symbol == symbol_named(name))
		    && (!stream || works[i].stream == stream)) {
			count += works[i].count;
		}
	}
	pthread_mutex_unlock(&work_lock);
	return count;
}

EXPORT void stub_script(const char *script)
{
	rule_count = work_count = 0;
	memset(absent, 0, sizeof(absent));
	memset(stub.calls, 0, sizeof(stub.calls));
	stub.functions[0] = stub.globals[0] = stub.log[0] = '\0';
	stub.scripted = stub.notes_streams = false;
	stub.version = 13000;
	stub.devices = 1;
	stub.clear = 0;
	stub.cc = 90;
	stub.ptx = 0;
	stub.memory = (size_t)8 << 30;

	char text[4096], *rest;
	copy_text(text, sizeof(text), script);
	for (char *key = strtok_r(text, ";", &rest); key; key = strtok_r(NULL, ";", &rest)) {
		char *value = strchr(key, '=');
		if (!value) {
			bad_script("expected KEY=VALUE", key);
		}
		*value = '\0';
		setting(key, value + 1);
	}
}

EXPORT long stub_calls(const char *name)
{
	long count = 0;
	for (int i = 0; !name && i < DRV_SYMBOL_COUNT; i++) {
		count += __atomic_load_n(&stub.calls[i], __ATOMIC_RELAXED);
	}
	return name ? __atomic_load_n(&stub.calls[symbol_named(name)], __ATOMIC_RELAXED) : count;
}

EXPORT long stub_live(int kind)
{
	return __atomic_load_n(&stub.live[kind], __ATOMIC_RELAXED);
}

__attribute__((constructor)) static void loaded(void)
{
	const char *script = getenv("KUDZU_STUB");
	stub_script(script ? script : "");
}
