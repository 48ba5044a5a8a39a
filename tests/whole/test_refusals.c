/* SPDX-License-Identifier: MIT */
/*
 * What can never be right is refused before the driver is called: wrong arguments, grids and blocks
 * beyond the device, sizes that overflow, handles that were released.  Random calls are compared
 * with rules that are written here once more.
 */
#include "base/common.h"

#include "support/device_test.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % below;
}

static void begin(const char *script)
{
	const char *text = getenv("KUDZU_TEST_SEED");
	seed = text ? strtoull(text, NULL, 10) : 1;
	printf("KUDZU_TEST_SEED=%llu\n", (unsigned long long)seed);
	open_stub(script);
}

#define RANDOM_TEST(name, script) TEST_BETWEEN(begin(script), close_stub(), name)

static const kz_dim3 one = {1, 1, 1};

/* --- Arguments --- */

enum { PARAMS_MAX = 64 };

/* k0 has no parameters, k64 has 64: a float *, an int and a float by turns, as the names say. */
static kz_module *load_kernels(void)
{
	static const char *const types[] = {".u64", ".u32", ".f32"};
	static const char *const letters[] = {"S_", "i", "f"};
	static char text[128 << 10];
	kz_module *module = NULL;
	size_t len = (size_t)sprintf(text, ".version 7.0\n.target sm_70\n.address_size 64\n");
	for (int k = 0; k <= PARAMS_MAX; k++) {
		len += (size_t)sprintf(text + len, ".visible .entry _Z%dk%d%s", k < 10 ? 2 : 3, k,
			k ? "Pf" : "v");
		for (int i = 1; i < k; i++) {
			len += (size_t)sprintf(text + len, "%s", letters[i % 3]);
		}
		text[len++] = '(';
		for (int i = 0; i < k; i++) {
			len += (size_t)sprintf(text + len, "%s.param %s p%d", i ? ", " : "",
				types[i % 3], i);
		}
		len += (size_t)sprintf(text + len, ")\n{\n\tret;\n}\n");
	}
	ok(kz_module_load(&module, dev, text, (int64_t)len, &err));
	return module;
}

static void fill_right(kz_arg *args, const kz_array *array)
{
	for (int i = 0; i < PARAMS_MAX + 1; i++) {
		args[i] = i % 3 == 0 ? kz_arg_array(array) : i % 3 == 1 ? KZ_ARG(i) : KZ_ARG(1.5f);
	}
}

/* Of those that can take no place of this type. */
static kz_arg wrong_arg(int type, int which, const kz_array *array)
{
	static int host;
	static char odd[3];
	const kz_arg wrong[3][5] = {
		{KZ_ARG(1.5f), KZ_ARG(1.5), KZ_ARG(&host), KZ_VALUE(odd), KZ_ARG(-1.0f)},
		{KZ_ARG(1.5f), KZ_ARG(1.5), kz_arg_array(array), KZ_VALUE(odd),
			KZ_ARG(INT64_C(1) << 40)},
		{KZ_ARG(1.5), KZ_ARG((1 << 30) + 1), kz_arg_array(array), KZ_VALUE(odd),
			KZ_ARG(&host)},
	};
	return wrong[type][which];
}

RANDOM_TEST(each_kernel_takes_its_own_arguments_alone, "")
{
	kz_arg args[PARAMS_MAX + 1];
	kz_array *array = NULL;
	long right = 0, wrong = 0;
	kz_module *module = load_kernels();
	ok(kz_array_create(&array, dev, KZ_F32, KZ_SHAPE(4), &err));
	for (int k = 0; k <= PARAMS_MAX; k++) {
		kz_kernel *kernel = NULL;
		char name[8];
		snprintf(name, sizeof(name), "k%d", k);
		ok(kz_module_kernel(&kernel, module, name, &err));
		fill_right(args, array);
		for (int count = 0; count <= PARAMS_MAX + 1; count++) {
			kz_status st = kz_launch_args(kernel, one, one, NULL, args, (size_t)count,
				&err);
			ck_assert_int_eq(st, count == k ? KZ_OK : KZ_ARGUMENT);
			right += count == k;
			wrong += count != k;
			kz_error_clear(&err);
		}
		for (int i = 0; i < 5 * k; i++) {
			char place[32];
			kz_arg good = args[i / 5];
			args[i / 5] = wrong_arg(i / 5 % 3, i % 5, array);
			snprintf(place, sizeof(place), "argument %d of '%s'", i / 5 + 1, name);
			kz_status st = kz_launch_args(kernel, one, one, NULL, args, (size_t)k,
				&err);
			ck_assert_msg(st == KZ_ARGUMENT && strstr(err.message, place),
				"%s, number %d: status %d: %s", place, i % 5, (int)st, err.message);
			kz_error_clear(&err);
			args[i / 5] = good;
			wrong++;
		}
	}
	ck_assert_int_eq(support_stub_calls("cuLaunchKernel"), right);
	printf("arguments: %ld launches refused, %ld accepted\n", wrong, right);
	kz_array_release(array);
	kz_module_release(module);
}

/* --- Grids and blocks --- */

/* Around the limits, far beyond, and below 1. */
static int64_t draw_extent(int64_t limit)
{
	switch (draw(8)) {
	case 0:
		return limit - 1 + (int64_t)draw(3);
	case 1:
		return (int64_t)draw(3) - 1;
	case 2:
		return INT64_MAX >> draw(63);
	case 3:
		return -(INT64_MAX >> draw(63));
	case 4:
		return (INT64_C(1) << 32) + (int64_t)draw(3) - 1;
	default:
		return 1 + (int64_t)draw(16);
	}
}

static bool is_in(int64_t value, int64_t limit)
{
	return value >= 1 && value <= limit;
}

RANDOM_TEST(grids_and_blocks_are_refused_by_the_limits_of_the_device, "")
{
	const int times = support_how_many(1000000, 100000, 10000);
	kz_device_info info = KZ_DEVICE_INFO_INIT;
	kz_kernel *kernel = NULL;
	kz_module *module = load_kernels();
	long accepted = 0;
	ok(kz_device_describe(dev, &info, &err));
	ok(kz_module_kernel(&kernel, module, "k0", &err));
	for (int i = 0; i < times; i++) {
		int64_t g[3], b[3];
		bool good = true;
		kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
		options.shared_size = draw(4) ? 0 : draw_extent(info.shared_per_block_optin);
		good = options.shared_size >= 0
			&& options.shared_size <= info.shared_per_block_optin;
		for (int d = 0; d < 3; d++) {
			g[d] = draw(2) ? 1 : draw_extent(info.max_grid[d]);
			b[d] = draw(2) ? 1 : draw_extent(info.max_block[d]);
			good = good && is_in(g[d], info.max_grid[d])
				&& is_in(b[d], info.max_block[d]);
		}
		good = good && (__int128)b[0] * b[1] * b[2] <= info.max_threads_per_block;
		kz_status st = kz_launch(kernel, (kz_dim3){g[0], g[1], g[2]},
			(kz_dim3){b[0], b[1], b[2]}, &options, &err, KZ_ARGS());
		ck_assert_msg(st == (good ? KZ_OK : KZ_LAUNCH), "status %d: %s", (int)st,
			err.message);
		kz_error_clear(&err);
		accepted += good;
	}
	ck_assert_int_eq(support_stub_calls("cuLaunchKernel"), accepted);
	printf("geometry: %ld launches refused, %ld accepted\n", times - accepted, accepted);
	kz_module_release(module);
}

/* --- Shapes --- */

RANDOM_TEST(shapes_that_overflow_are_refused, "memory=1048576")
{
	static const kz_dtype dtypes[] = {KZ_I8, KZ_F16, KZ_I32, KZ_F64, KZ_C128};
	static const int64_t sizes[] = {1, 2, 4, 8, 16};
	const int times = support_how_many(10000000, 1000000, 50000);
	long fit = 0, full = 0, over = 0, negative = 0;
	for (int i = 0; i < times; i++) {
		size_t type = (size_t)draw(countof(dtypes));
		kz_shape shape = {.ndim = (int)draw(6)};
		unsigned __int128 size = (unsigned)sizes[type];
		bool is_negative = false, is_over = false;
		bool is_empty = false;
		for (int64_t d = 0; d < shape.ndim; d++) {
			int64_t n = draw(40) == 0 ? -(int64_t)draw(9) : INT64_MAX >> draw(64);
			shape.dims[d] = n;
			is_negative = is_negative || n < 0;
			is_empty = is_empty || n == 0;
		}
		/* As in numpy, an extent of 0 does not hide the others, whose strides would
		 * overflow. */
		for (int64_t d = 0; d < shape.ndim && !is_negative; d++) {
			uint64_t n = (uint64_t)shape.dims[d];
			size = is_over ? size : size * (n ? n : 1);
			is_over = is_over || size > INT64_MAX;
		}
		kz_array *array = NULL;
		kz_status st = kz_array_create(&array, dev, dtypes[type], shape, &err);
		bool fits = !is_negative && !is_over;
		kz_status want = is_negative ? KZ_INVALID : is_over ? KZ_RANGE
			: is_empty || size <= 1 << 20 ? KZ_OK : KZ_DEVICE_MEMORY;
		ck_assert_msg(st == want, "seed %llu: status %d, expected %d: %s",
			(unsigned long long)seed, (int)st, (int)want, err.message);
		ck_assert_int_eq(kz_array_size(array), st || is_empty ? 0 : (int64_t)size);
		negative += is_negative;
		over += is_over;
		fit += st == KZ_OK;
		full += fits && st != KZ_OK;
		kz_array_release(array);
		kz_error_clear(&err);
	}
	ck_assert(fit > 0 && full > 0 && over > 0 && negative > 0);
	printf("shapes: %ld negative, %ld that overflow, %ld too large, %ld created\n", negative,
		over, full, fit);
}

/* --- Handles --- */

enum { SLOTS = 24 };
enum slot_kind { SLOT_ARRAY, SLOT_BUFFER, SLOT_STREAM, SLOT_EVENT, SLOT_PINNED, SLOT_KINDS };

/* A handle that is live, or was released. */
struct slot {
	void *handle;
	enum slot_kind kind;
	bool live;
};

static void slot_create(struct slot *slot)
{
	kz_array *array = NULL;
	kz_buffer *buffer = NULL;
	kz_stream *stream = NULL;
	kz_event *event = NULL;
	kz_pinned *pinned = NULL;
	slot->kind = (enum slot_kind)draw(SLOT_KINDS);
	slot->live = true;
	switch (slot->kind) {
	case SLOT_ARRAY:
		ok(kz_array_create(&array, dev, KZ_I32, KZ_SHAPE((int64_t)draw(300)), &err));
		slot->handle = array;
		break;
	case SLOT_BUFFER:
		ok(kz_buffer_create(&buffer, dev, 16 + (int64_t)draw(3000), &err));
		slot->handle = buffer;
		break;
	case SLOT_STREAM:
		ok(kz_stream_create(&stream, dev, 0, &err));
		slot->handle = stream;
		break;
	case SLOT_EVENT:
		ok(kz_event_create(&event, dev, &err));
		slot->handle = event;
		break;
	default:
		ok(kz_pinned_create(&pinned, dev, 16, &err));
		slot->handle = pinned;
	}
}

static void slot_release(struct slot *slot)
{
	switch (slot->kind) {
	case SLOT_ARRAY:
		kz_array_release(slot->handle);
		break;
	case SLOT_BUFFER:
		kz_buffer_release(slot->handle);
		break;
	case SLOT_STREAM:
		kz_stream_release(slot->handle);
		break;
	case SLOT_EVENT:
		kz_event_release(slot->handle);
		break;
	default:
		kz_pinned_release(slot->handle);
	}
	slot->live = false;
}

static kz_status slot_use(struct slot *slot)
{
	static char host[16];
	kz_array *view = NULL;
	kz_buffer *buffer = NULL;
	kz_status st;
	switch (slot->kind) {
	case SLOT_ARRAY:
		st = kz_array_reshape(&view, slot->handle, KZ_SHAPE(-1), &err);
		kz_array_release(view);
		return st;
	case SLOT_BUFFER:
		return kz_copy_dtoh(host, 16, slot->handle, 0, &err);
	case SLOT_STREAM:
		return kz_stream_synchronize(slot->handle, &err);
	case SLOT_EVENT:
		return kz_event_query(slot->handle, &err);
	default:
		st = kz_pinned_buffer(&buffer, slot->handle, &err);
		kz_buffer_release(buffer);
		return st;
	}
}

/* A handle is known for as long as the next 256 objects end; here one that was released is
 * forgotten before.  Buffers that the pool has handed out again are other objects, so theirs are
 * not kept. */
RANDOM_TEST(handles_are_refused_from_their_release_on, "")
{
	static struct slot slots[SLOTS];
	const int times = support_how_many(10000000, 1000000, 100000);
	long used = 0, refused = 0;
	for (int i = 0; i < times; i++) {
		struct slot *slot = &slots[draw(SLOTS)];
		if (!slot->handle) {
			slot_create(slot);
		} else if (slot->live && draw(3) == 0) {
			slot_release(slot);
			if (draw(2) || slot->kind == SLOT_BUFFER) {
				ck_assert_int_eq(slot_use(slot), KZ_INVALID);
				kz_error_clear(&err);
				slot->handle = NULL;
				refused++;
			}
		} else if (slot->live) {
			ok(slot_use(slot));
			used++;
		} else {
			slot_release(slot); /* for the second time: nothing happens */
			ck_assert_int_eq(slot_use(slot), KZ_INVALID);
			kz_error_clear(&err);
			slot->handle = NULL;
			refused++;
		}
	}
	for (int i = 0; i < SLOTS; i++) {
		slot_release(slots[i].live ? &slots[i] : &(struct slot){NULL, SLOT_EVENT, false});
	}
	printf("handles: %ld uses, %ld refused\n", used, refused);
}

SUITE(refusals)
{
	Suite *s = suite_create("refusals");
	TCase *tc = suite_add_case(s, "random");
	tcase_add_tests(tc, 1, each_kernel_takes_its_own_arguments_alone,
		grids_and_blocks_are_refused_by_the_limits_of_the_device,
		shapes_that_overflow_are_refused, handles_are_refused_from_their_release_on);
	return s;
}
