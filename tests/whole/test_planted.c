/* SPDX-License-Identifier: MIT */
/*
 * Kernels with one planted bug each: a check has to find it, at its line, and say so in the words
 * of the row.  And kernels that look as if they had one, about which nothing may be said.
 */
#include "base/common.h"

#include "support/suite.h"
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

/* Each line with a bug ends in a comment with the name of its kernel.  64 threads; `in` and `out`
 * have 64 elements, n is 1. */
static const char source[] =
"__constant__ int table[16];\n"
"__device__ int counters[8], after_counters[8];\n"
"struct pair { int first, second; };\n"
"struct padded { char tag; long long value; };\n"
"__device__ int load(const int *p, int i)\n"
"{\n"
"	return p[i]; // inlined, init_inlined\n"
"}\n"
"extern \"C\" {\n"
"#define KERNEL(name) __global__ void name(int *out, const int *in, int n)\n"
"#define T ((int)threadIdx.x)\n"
/* memory */
"KERNEL(read_after) {\n	out[T] = in[T + n]; // read_after\n}\n"
"KERNEL(read_before) {\n	out[T] = in[T - n]; // read_before\n}\n"
"KERNEL(write_after) {\n	out[T + n] = T; // write_after\n}\n"
"KERNEL(write_before) {\n	out[T - n] = T; // write_before\n}\n"
"KERNEL(read_vector) {\n	int4 v = ((const int4 *)in)[T]; // read_vector\n"
"	out[T] = v.x + v.w;\n}\n"
"KERNEL(misaligned) {\n	out[T] = *(const int *)((const char *)in + n + T); // misaligned\n}\n"
"KERNEL(shared_after) {\n	__shared__ int a[64], b[64];\n	a[T] = T;\n	b[T] = T;\n"
"	__syncthreads();\n	out[T] = a[T + n] + b[63 - T]; // shared_after\n}\n"
"KERNEL(shared_before) {\n	__shared__ int a[64], b[64];\n	a[T] = T;\n	__syncthreads();\n"
"	b[T - n] = a[63 - T]; // shared_before\n	__syncthreads();\n"
"	out[T] = b[63 - T];\n}\n"
"KERNEL(dynamic_after) {\n	extern __shared__ int d[];\n	d[T + n] = T; // dynamic_after\n"
"	__syncthreads();\n	out[T] = d[63 - T];\n}\n"
"KERNEL(local_after) {\n	int a[16];\n	for (int i = 0; i < 16 + n; i++) {\n"
"		a[i * 3 % 17] = in[i]; // local_after\n	}\n	out[T] = a[in[T] & 15];\n}\n"
"KERNEL(constant_after) {\n	out[T] = table[T]; // constant_after\n}\n"
"KERNEL(variable_after) {\n	counters[T] = T; // variable_after\n	after_counters[0] = 1;\n}\n"
"KERNEL(atomic_after) {\n	atomicAdd(&out[T + n], 1); // atomic_after\n}\n"
"KERNEL(shared_atomic) {\n	__shared__ int h[32], g[32];\n	h[T & 31] = 0;\n"
"	g[T & 31] = 0;\n"
"	__syncthreads();\n	atomicAdd(&h[T], 1); // shared_atomic\n	__syncthreads();\n"
"	out[T] = h[T & 31] + g[T & 31];\n}\n"
"KERNEL(freed) {\n	out[T] = in[T]; // freed\n}\n"
"KERNEL(host) {\n	out[T] = in[T]; // host\n}\n"
"KERNEL(null) {\n	out[T] = in[T]; // null\n}\n"
"KERNEL(loop) {\n	int sum = 0;\n	for (int i = 0; i <= 63 + n; i++) {\n"
"		sum += in[i]; // loop\n	}\n	out[T] = sum;\n}\n"
"KERNEL(inlined) {\n	out[T] = load(in, T + n) + 1;\n}\n"
"KERNEL(async) {\n	__shared__ int a[64], b[64];\n"
"	unsigned to = (unsigned)__cvta_generic_to_shared(&a[T + n]);\n	b[T] = 0;\n"
"	asm volatile(\"cp.async.ca.shared.global [%0], [%1], 4;\" :: \"r\"(to), \"l\"(in + T));"
" // async\n"
"	asm volatile(\"cp.async.wait_all;\");\n	__syncthreads();\n	out[T] = a[T] + b[T];\n}\n"
"KERNEL(divergent) {\n	if (T & 1) {\n		out[T + 62] = T; // divergent\n	}\n}\n"
"KERNEL(member) {\n	out[T] = ((const pair *)in)[T / 2 + n].second; // member\n}\n"
/* init: of `in` the first 32 elements are written */
"KERNEL(init_add) {\n	out[T] = in[T] + n; // init_add\n}\n"
"KERNEL(init_branch) {\n	if (in[T] > 5) { // init_branch\n"
"		out[T] = 1;\n	}\n}\n"
""
"KERNEL(init_address) {\n	out[in[T] & 63] = 1; // init_address\n}\n"
"KERNEL(init_float) {\n	out[T] = (int)(((const float *)in)[T] * 2); // init_float\n}\n"
"KERNEL(init_shared) {\n	__shared__ int a[64];\n	if (T < 32) {\n		a[T] = T;\n	}\n"
"	__syncthreads();\n	out[T] = a[63 - T] + 1; // init_shared\n}\n"
"KERNEL(init_tail) {\n	__shared__ int a[65];\n	a[T] = T;\n	__syncthreads();\n"
"	out[T] = a[T] - a[T + n]; // init_tail\n}\n"
"KERNEL(init_local) {\n	int a[20], sum = 0;\n	for (int i = 0; i < 18 + n; i++) {\n"
"		a[i * 7 % 20] = i;\n	}\n	for (int i = 0; i < 20; i++) {\n"
"		sum += a[i * (n + 2) % 20]; // init_local\n	}\n	out[T] = sum;\n}\n"
"KERNEL(init_loop) {\n	int sum = 0;\n	for (int i = 0; i < 32 + n; i++) {\n"
"		sum += in[i]; // init_loop\n	}\n	out[T] = sum;\n}\n"
"KERNEL(init_atomic) {\n	atomicAdd((int *)in + T, 1); // init_atomic\n}\n"
"KERNEL(init_histogram) {\n	__shared__ int h[64];\n	atomicAdd(&h[T], 1); // init_histogram\n"
"	__syncthreads();\n	out[T] = h[T];\n}\n"
"KERNEL(init_byte) {\n	out[T] = ((const unsigned char *)in)[T + 96] + n; // init_byte\n}\n"
"KERNEL(init_short) {\n	out[T] = ((const short *)in)[T + 32] * 3; // init_short\n}\n"
"KERNEL(init_long) {\n	out[T] = (int)(((const long long *)in)[T / 2] * 3); // init_long\n}\n"
"KERNEL(init_double) {\n"
"	out[T] = (int)(((const double *)in)[T / 2] * 3); // init_double\n}\n"
"KERNEL(init_vector) {\n	int4 v = ((const int4 *)in)[T / 4]; // init_vector\n"
"	out[T] = v.y * v.z;\n}\n"
"KERNEL(init_copied) {\n	__shared__ int a[64];\n	a[T] = in[T];\n	__syncthreads();\n"
"	out[T] = a[63 - T] * 3; // init_copied\n}\n"
"KERNEL(init_inlined) {\n	out[T] = load(in, T) + 1;\n}\n"
"KERNEL(init_divergent) {\n	if (T & 1) {\n"
"		out[T] = in[T] * 3; // init_divergent\n	}\n}\n"
"KERNEL(init_shuffle) {\n	int v = in[T]; // init_shuffle\n"
"	out[T] = v + __shfl_xor_sync(~0u, v, 1);\n}\n"
"KERNEL(init_dynamic) {\n	extern __shared__ int d[];\n	d[T / 2] = T;\n	__syncthreads();\n"
"	out[T] = d[T] ^ 5; // init_dynamic\n}\n"
"KERNEL(init_last) {\n	__shared__ int a[64];\n	a[T] = T;\n	__syncthreads();\n"
"	out[T] = a[T];\n"
"	if (T == 63) {\n		out[0] += in[T]; // init_last\n	}\n}\n"
/* nothing is wrong */
"KERNEL(good_copy) {\n	((int *)out)[T] = in[T];\n}\n"
"KERNEL(good_bytes) {\n	for (int i = 0; i < 4; i++) {\n"
"		((char *)out)[4 * T + i] = ((const char *)in)[4 * T + i];\n	}\n}\n"
"KERNEL(good_padding) {\n	if (T < 16) {\n"
"		((padded *)out)[T] = ((const padded *)in)[T];\n	}\n}\n"
"KERNEL(good_halves) {\n	__shared__ padded a[64];\n	a[T].tag = (char)T;\n"
"	a[T].value = T;\n"
"	__syncthreads();\n	padded p = a[63 - T];\n	out[T] = p.tag + (int)p.value;\n}\n"
"struct flagged { int flag; double value; };\n"
"KERNEL(good_flag) {\n	__shared__ flagged a[64];\n	flagged f = {T & 1, (double)T};\n"
"	a[T].flag = f.flag;\n"
"	a[T].value = f.value;\n	__syncthreads();\n	f = a[63 - T];\n"
"	out[T] = f.flag ? (int)f.value : 3;\n}\n"
"KERNEL(good_vector) {\n	if (T < 16) {\n"
"		((int4 *)out)[T] = ((const int4 *)in)[T];\n	}\n}\n"
"KERNEL(good_select) {\n	int v = in[T];\n	out[T] = n > 0 ? v : 7;\n}\n"
"KERNEL(good_shuffle) {\n	out[T] = __shfl_xor_sync(~0u, in[T], 1);\n}\n"
"KERNEL(good_shared) {\n	__shared__ int a[64];\n	a[T] = T;\n	__syncthreads();\n"
"	out[T] = a[63 - T] * 3;\n}\n"
"KERNEL(good_local) {\n	int a[16];\n	for (int i = 0; i < 16; i++) {\n"
"		a[i * 3 % 16] = i;\n	}\n"
"	out[T] = a[(T + n) & 15] * 3;\n}\n"
"KERNEL(good_guarded) {\n	if (T + n < 32) {\n"
"		out[T] = in[T + n] * 3;\n	}\n}\n"
""
"KERNEL(good_atomics) {\n	__shared__ int h[4];\n	if (T < 4) {\n		h[T] = 0;\n	}\n"
"	__syncthreads();\n	atomicAdd(&h[T & 3], 1);\n	__syncthreads();\n"
"	atomicMax(&out[T], h[T & 3]);\n}\n"
"KERNEL(good_dynamic) {\n	extern __shared__ int d[];\n	int *half = d + 32;\n	d[T] = T;\n"
"	__syncthreads();\n	out[T] = half[-32 + T] + half[31 - T / 2];\n}\n"
"KERNEL(good_last) {\n	out[63 - T] = in[T & 31] + table[T & 15] + counters[T & 7];\n}\n"
"}\n";

static const struct {
	const char *kernel;
	const char *words; /* of the report; NULL: there is none */
	int thread;        /* the first one that it may name */
} rows[] = {
	{"read_after", "read of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 63},
	{"read_before", "read of 4 bytes at address 0x|4 bytes before the 256-byte", 0},
	{"write_after", "write of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 63},
	{"write_before", "write of 4 bytes at address 0x|4 bytes before the 256-byte", 0},
	{"read_vector", "read of 16 bytes at address 0x|0 bytes past the end of the 256-byte", 16},
	{"misaligned", "read of 4 bytes at address 0x|which is not a multiple of 4", 0},
	{"shared_after", "read of 4 bytes at offset 256 of the shared variable 'a'|has 256 bytes",
		63},
	{"shared_before", "write of 4 bytes at offset -4 of the shared variable 'b'", 0},
	{"dynamic_after", "write of 4 bytes at offset 256 of the dynamic shared memory 'd'", 63},
	{"local_after", "write of 4 bytes at offset 64 of the thread's local memory", 0},
	{"constant_after", "read of 4 bytes at offset 64 of the constant variable 'table'", 16},
	{"variable_after", "write of 4 bytes at offset 32 of the variable 'counters'", 8},
	{"atomic_after", "atomic operation on 4 bytes at address 0x|0 bytes past the end", 63},
	{"shared_atomic", "atomic operation on 4 bytes at offset 128 of the shared variable 'h'",
		32},
	{"freed", "read of 4 bytes at address 0x|the 256-byte allocation at|which was freed", 0},
	{"host", "read of 4 bytes at address 0x|which is in no allocation", 0},
	{"null", "read of 4 bytes at address 0x0, which is in no allocation", 0},
	{"loop", "read of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 0},
	{"inlined", "read of 4 bytes at address 0x|note: in the call of 'load' from here", 63},
	{"async", "offset 256 of the shared variable 'a'", 63},
	{"divergent", "write of 4 bytes at address 0x|4 bytes past the end of the 256-byte", 3},
	{"member", "read of 4 bytes at address 0x|4 bytes past the end of the 256-byte", 62},
	{"init_add", "use of 4 bytes at address 0x|before anything was written there", 32},
	{"init_branch", "use of 4 bytes at address 0x|inside the 256-byte allocation", 32},
	{"init_address", "use of 4 bytes at address 0x", 32},
	{"init_float", "use of 4 bytes at address 0x", 32},
	{"init_shared", "use of 4 bytes at offset |of the shared variable 'a'", 0},
	{"init_tail", "use of 4 bytes at offset 256 of the shared variable 'a'", 63},
	{"init_local", "use of 4 bytes at offset 52 of the thread's local memory", 0},
	{"init_loop", "use of 4 bytes at address 0x", 0},
	{"init_atomic", "use of 4 bytes at address 0x", 32},
	{"init_histogram", "use of 4 bytes at offset 0 of the shared variable 'h'", 0},
	{"init_byte", "use of 1 byte at address 0x", 32},
	{"init_short", "use of 2 bytes at address 0x", 32},
	{"init_long", "use of 4 bytes at address 0x", 32},
	{"init_double", "use of 8 bytes at address 0x", 32},
	{"init_vector", "use of 16 bytes at address 0x", 32},
	{"init_copied", "use of 4 bytes at offset |of the shared variable 'a'", 0},
	{"init_inlined", "use of 4 bytes at address 0x|note: in the call of 'load' from here", 32},
	{"init_divergent", "use of 4 bytes at address 0x", 33},
	{"init_shuffle", "use of 4 bytes at address 0x", 32},
	{"init_dynamic", "use of 4 bytes at offset 128 of the shared variable 'd'", 32},
	{"init_last", "use of 4 bytes at address 0x", 63},
	{"good_copy", NULL, 0},
	{"good_bytes", NULL, 0},
	{"good_padding", NULL, 0},
	{"good_halves", NULL, 0},
	{"good_flag", NULL, 0},
	{"good_vector", NULL, 0},
	{"good_select", NULL, 0},
	{"good_shuffle", NULL, 0},
	{"good_shared", NULL, 0},
	{"good_local", NULL, 0},
	{"good_guarded", NULL, 0},
	{"good_atomics", NULL, 0},
	{"good_dynamic", NULL, 0},
	{"good_last", NULL, 0},
};

static kz_error err;
static int reports;
static char text[2048];
static kz_report last;

static void planted_tell(void *user, const kz_report *report)
{
	(void)user;
	reports++;
	last = *report;
	snprintf(text, sizeof(text), "%s", report->text);
}

/* The line whose comment names a kernel. */
static int planted_line(const char *kernel)
{
	int line = 1;
	for (const char *at = source; *at; line++) {
		const char *end = strchr(at, '\n');
		const char *comment = strstr(at, "// ");
		const size_t length = strlen(kernel);
		for (; comment && comment < end; comment += strcspn(comment, ",\n") + 2) {
			comment += strncmp(comment, "// ", 3) == 0 ? 3 : 0;
			if (strncmp(comment, kernel, length) == 0
			    && (comment[length] == '\n' || comment[length] == ',')) {
				return line;
			}
		}
		at = end + 1;
	}
	return 0;
}

/* Words with '|' between them, all of which the report has to have. */
static void planted_check_words(const char *words)
{
	char word[128];
	for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
		ck_assert_msg(strstr(text, word) != NULL, "'%s' is not in: %s", word, text);
	}
}

static void planted_check(size_t row, kz_status st)
{
	const bool is_init = strncmp(rows[row].kernel, "init", 4) == 0;
	if (!rows[row].words) {
		ck_assert_msg(reports == 0 && st == KZ_OK, "%s: %s", rows[row].kernel, text);
		return;
	}
	ck_assert_msg(reports == 1, "%s: %d reports %s", rows[row].kernel, reports, text);
	ck_assert_int_eq(st, is_init ? KZ_OK : KZ_FAULT);
	planted_check_words(rows[row].words);
	ck_assert_ptr_nonnull(strstr(text, is_init ? " [init]\n" : " [memory]\n"));
	ck_assert_msg(last.sides[0].line == planted_line(rows[row].kernel), "expected line %d: %s",
		planted_line(rows[row].kernel), text);
	ck_assert_int_eq(last.sides[0].thread[0], rows[row].thread);
}

/* Half of the rows run by threads one at a time. */
START_TEST(a_planted_bug_is_found_at_its_line)
{
	const size_t row = (size_t)_i;
	static int host[64];
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *in = NULL, *out = NULL, *part = NULL;
	setenv("KUDZU_CHECK", "memory,init", 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	setenv("KUDZU_CPU_WIDTH", row % 2 ? "1" : "32", 1);
	err = (kz_error)KZ_ERROR_INIT;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, rows[row].kernel, &err));
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(64), &err));
	ok(kz_array_create(&in, dev, KZ_I32, KZ_SHAPE(64), &err));
	const bool is_whole = strncmp(rows[row].kernel, "init", 4) != 0
		&& strncmp(rows[row].kernel, "good", 4) != 0;
	ok(kz_array_slice(&part, in, KZ_AT(KZ_SLICE(0, is_whole ? 64 : 32)), &err));
	ok(kz_array_set(part, host, is_whole ? 256 : 128, &err));
	kz_array_release(part);
	uint64_t address = kz_array_address(in);
	if (strcmp(rows[row].kernel, "freed") == 0) {
		kz_array_release(in);
		in = NULL;
	}
	address = strcmp(rows[row].kernel, "host") == 0 ? (uintptr_t)host
		: strcmp(rows[row].kernel, "null") == 0 ? 0 : address;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = 256;
	ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(64, 1, 1), &options, &err,
		KZ_ARGS(out, KZ_DEVPTR(address), 1)));
	kz_status st = kz_device_synchronize(dev, &err);
	kz_error_clear(&err);
	ok(kz_device_reports(dev, planted_tell, NULL, &err));
	planted_check(row, st);
	kz_array_release(in);
	kz_array_release(out);
	kz_module_release(mod);
	kz_device_close(dev);
}
END_TEST

SUITE(planted)
{
	Suite *s = suite_create("planted");
	TCase *tc = suite_add_case(s, "bugs");
	tcase_set_timeout(tc, 60);
	if (support_device_count() > 0) {
		tcase_add_loop_test(tc, a_planted_bug_is_found_at_its_line, 0, (int)countof(rows));
	}
	return s;
}
