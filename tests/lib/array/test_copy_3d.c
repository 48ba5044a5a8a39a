/* SPDX-License-Identifier: MIT */
/*
 * src/lib/array/copy_3d.c: boxes between host memory, buffers and CUDA arrays, against a loop over
 * bytes; pitched memory and fills of rows; two devices of the stub.
 */
#include "base/common.h"

#include "support/device_test.h"

#include <kudzu/copy.h>

#include <limits.h>
#include <string.h>

static uint64_t seed;

static int64_t up_to(int64_t most)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(seed >> 33) % (most + 1);
}

/* Linear memory with a box in it: on the device if `buffer` is set. */
struct linear {
	char bytes[4096];
	int64_t size;
	kz_buffer *buffer;
	kz_copy_side side;
};

static void fill_bytes(char *bytes, int64_t size)
{
	for (int64_t i = 0; i < size; i++) {
		bytes[i] = (char)up_to(255);
	}
}

/* Any place for a box, in memory that ends with it or a little after. */
static void place_box(struct linear *l, const kz_copy_3d_options *box, kz_device *on)
{
	kz_copy_side *s = &l->side;
	*s = (kz_copy_side){.x = up_to(5), .y = up_to(2), .z = up_to(2), .offset = up_to(9)};
	s->pitch = s->x + box->width + up_to(7);
	s->rows = s->y + box->height + up_to(2);
	if (up_to(3) == 0) { /* without gaps */
		s->x = s->y = s->pitch = s->rows = 0;
	}
	int64_t pitch = s->pitch ? s->pitch : box->width, rows = s->rows ? s->rows : box->height;
	l->size = s->offset + ((s->z + box->depth - 1) * rows + s->y + box->height - 1) * pitch
		+ s->x
		+ box->width + (up_to(1) ? up_to(20) : 0);
	ck_assert_int_le(l->size, (int64_t)sizeof(l->bytes));
	fill_bytes(l->bytes, l->size);
	l->buffer = NULL;
	if (on) {
		ok(kz_buffer_create(&l->buffer, on, l->size, &err));
		ok(kz_copy_htod(l->buffer, 0, l->bytes, l->size, &err));
		s->buffer = l->buffer;
	} else {
		s->host = l->bytes;
		s->host_size = l->size;
	}
}

static char *byte_at(struct linear *l, const kz_copy_3d_options *box, int64_t x, int64_t y,
	int64_t z)
{
	const kz_copy_side *s = &l->side;
	int64_t pitch = s->pitch ? s->pitch : box->width, rows = s->rows ? s->rows : box->height;
	return &l->bytes[s->offset + ((s->z + z) * rows + s->y + y) * pitch + s->x + x];
}

/* Copy a box; `stream` NULL: by the plain form.  The target has what a loop over bytes makes of
 * it. */
static void copy_any(kz_device *to_device, kz_device *from_device, kz_stream *stream)
{
	static struct linear to, from;
	static char got[4096], target[4096];
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	box.width = 1 + up_to(12);
	box.height = 1 + up_to(4);
	box.depth = 1 + up_to(3);
	place_box(&to, &box, to_device);
	place_box(&from, &box, from_device);
	box.to = to.side;
	box.from = from.side;
	memcpy(target, to.bytes, sizeof(target));
	box.to.host = box.to.host ? target : NULL;
	ok(stream ? kz_copy_3d_on(&box, stream, &err) : kz_copy_3d(&box, &err));
	if (stream) {
		ok(kz_stream_synchronize(stream, &err));
	}
	if (to.buffer) {
		ok(kz_copy_dtoh(got, to.size, to.buffer, 0, &err));
	} else {
		memcpy(got, target, sizeof(got));
	}
	for (int64_t z = 0; z < box.depth; z++) {
		for (int64_t y = 0; y < box.height; y++) {
			for (int64_t x = 0; x < box.width; x++) {
				*byte_at(&to, &box, x, y, z) = *byte_at(&from, &box, x, y, z);
			}
		}
	}
	ck_assert_mem_eq(got, to.bytes, (size_t)to.size);
	kz_buffer_release(to.buffer);
	kz_buffer_release(from.buffer);
}

DEVICE_TEST(boxes_arrive_between_host_and_buffers)
{
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	for (int i = 0; i < 600; i++) {
		copy_any(i % 3 == 0 ? NULL : dev, i % 3 == 1 ? NULL : dev, i % 2 ? stream : NULL);
	}
	kz_stream_release(stream);
}

/* Host memory beside the box stays as it is. */
DEVICE_TEST(a_box_on_the_host_leaves_what_is_beside_it)
{
	char host[4 * 8];
	kz_buffer *buffer = create_buffer(6);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	memset(host, '.', sizeof(host));
	ok(kz_copy_htod(buffer, 0, "abcdef", 6, &err));
	box.to = (kz_copy_side){.host = host, .host_size = sizeof(host), .pitch = 8, .x = 2,
		.y = 1};
	box.from.buffer = buffer;
	box.width = 3;
	box.height = 2;
	ok(kz_copy_3d(&box, &err));
	ck_assert_mem_eq(host, "..........abc.....def...........", sizeof(host));
	kz_buffer_release(buffer);
}

/* The box ends with the memory, and so does each row and slice with its pitch. */
DEVICE_TEST(one_byte_more_than_there_is_is_refused)
{
	enum { X = 3, Y = 1, Z = 2, W = 5, H = 4, D = 3, PITCH = X + W, ROWS = Y + H };
	enum { SIZE = 7 + (Z + D) * PITCH * ROWS };
	static char host[SIZE];
	kz_buffer *buffer = create_buffer(W * H * D), *tight = create_buffer(SIZE);
	for (int i = 0; i < 4; i++) {
		kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
		kz_copy_side *side = i % 2 ? &box.to : &box.from;
		(i % 2 ? &box.from : &box.to)->buffer = buffer;
		*side = (kz_copy_side){.x = X, .y = Y, .z = Z, .offset = 7, .pitch = PITCH,
			.rows = ROWS};
		side->buffer = i < 2 ? tight : NULL;
		side->host = i < 2 ? NULL : host;
		side->host_size = i < 2 ? 0 : SIZE;
		box.width = W;
		box.height = H;
		box.depth = D;
		ok(kz_copy_3d(&box, &err));
		int64_t *const numbers[] = {&side->x, &side->y, &side->z, &side->offset,
			&side->pitch, &side->rows, &box.width, &box.height, &box.depth};
		for (size_t k = 0; k < countof(numbers); k++) {
			int64_t old = *numbers[k];
			for (int step = 0; step < 2; step++) {
				*numbers[k] = step ? INT64_MAX : old + 1;
				kz_status st = kz_copy_3d(&box, &err);
				ck_assert_msg(st == KZ_RANGE || st == KZ_INVALID, "%zu: %d", k,
					(int)st);
				ck_assert_int_eq(err.status, st);
				kz_error_clear(&err);
			}
			*numbers[k] = -1;
			fails(kz_copy_3d(&box, &err), KZ_INVALID,
				k < 6 ? "at least 0, got" : "0 bytes or more");
			*numbers[k] = old;
		}
		ok(kz_copy_3d(&box, &err));
	}
	release_buffers(buffer, tight);
}

DEVICE_TEST(what_is_no_copy_is_told)
{
	char host[64];
	kz_buffer *buffer = create_buffer(64);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	fails(kz_copy_3d(NULL, &err), KZ_INVALID, "expected a kz_copy_3d_options");
	box.width = 8;
	fails(kz_copy_3d(&box, &err), KZ_INVALID,
		"'to': expected exactly one of host, buffer and texels, got 0");
	box.to.buffer = buffer;
	box.to.host = host;
	fails(kz_copy_3d(&box, &err), KZ_INVALID,
		"'to': expected exactly one of host, buffer and texels, got 2");
	box.to = (kz_copy_side){.host = host, .host_size = 64};
	box.from = (kz_copy_side){.host = host, .host_size = 64};
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "got both on the host");
	box.from.host_size = 7;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "'from': the box ends at byte 8 of host memory of "
		"7 bytes");
	box.from = (kz_copy_side){.buffer = buffer, .level = 1};
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "'from': a buffer has no level 1");
	box.from.level = 0;
	box.from.x = 60;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "'from': the box ends at byte 68 of a buffer of 64 "
		"bytes");
	box.from.pitch = 62;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "expected rows within their pitch of 62 bytes, "
		"got 8 from x = 60 on");
	box.from = (kz_copy_side){.buffer = buffer, .x = 2};
	box.height = 2;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "expected rows within their pitch of 8 bytes");
	box.from = (kz_copy_side){.buffer = buffer, .y = 2, .rows = 3};
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "expected slices of at most 3 rows, got 2 from y "
		"= 2");
	fails(kz_copy_3d_on(&box, NULL, &err), KZ_INVALID, "expected slices");
	box.from = (kz_copy_side){.buffer = buffer};
	fails(kz_copy_3d_on(&box, NULL, &err), KZ_INVALID, "expected a stream, got NULL");
	box.size--;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "initialize it with KZ_COPY_3D_OPTIONS_INIT");
	kz_buffer_release(buffer);
}

/* Rows side by side do not overlap, and a box that reaches into its target does. */
DEVICE_TEST(a_box_that_overlaps_its_target_is_refused)
{
	kz_buffer *buffer = create_buffer(64);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	char host[64], want[64];
	for (int i = 0; i < 64; i++) {
		host[i] = (char)i;
		want[i] = (char)(i % 16 < 8 ? i : i - 8);
	}
	ok(kz_copy_htod(buffer, 0, host, 64, &err));
	box.to = (kz_copy_side){.buffer = buffer, .pitch = 16, .x = 8};
	box.from = (kz_copy_side){.buffer = buffer, .pitch = 16};
	box.width = 8;
	box.height = 4;
	ok(kz_copy_3d(&box, &err));
	ok(kz_copy_dtoh(host, 64, buffer, 0, &err));
	ck_assert_mem_eq(host, want, 64);
	box.to.x = 7;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "overlaps its target");
	box.to.x = 8;
	box.from = (kz_copy_side){.buffer = buffer}; /* without gaps: rows 0 and 1 are in row 0 */
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "overlaps its target");
	kz_buffer_release(buffer);
}

DEVICE_TEST(a_box_without_bytes_is_checked)
{
	kz_buffer *buffer = create_buffer(8);
	char host[1];
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	box.to.buffer = buffer;
	box.from = (kz_copy_side){.host = host};
	ok(kz_copy_3d(&box, &err));
	ok(kz_copy_3d_on(&box, kz_device_stream(dev), &err));
	box.to.offset = 9;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "'to': the box ends at byte 9");
	kz_buffer_release(buffer);
}

/* The copy is after a wait when its source is released, and is still the owner of the memory. */
KERNEL_TEST(pinned_memory_stays_until_a_box_is_copied)
{
	enum { SIZE = 1 << 16 };
	static char got[SIZE];
	kz_stream *stream = NULL;
	kz_pinned *pinned = NULL, *next = NULL;
	kz_buffer *flag = create_buffer(4), *buffer = create_buffer(SIZE);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_fill(flag, 0, 4, "", 1, NULL, &err));
	ok(kz_pinned_create(&pinned, dev, SIZE, &err));
	memset(kz_pinned_pointer(pinned), 'a', SIZE);
	box.to.buffer = buffer;
	box.from = (kz_copy_side){.host = kz_pinned_pointer(pinned), .host_size = SIZE};
	box.width = SIZE / 16;
	box.height = 16;
	ok(kz_stream_wait_value32(stream, flag, 0, 1, KZ_WAIT_EQ, &err));
	ok(kz_copy_3d_on(&box, stream, &err));
	kz_pinned_release(pinned);
	ok(kz_pinned_create(&next, dev, SIZE, &err));
	memset(kz_pinned_pointer(next), 'b', SIZE);
	ok(kz_stream_write_value32(NULL, flag, 0, 1, &err));
	ok(kz_copy_dtoh(got, SIZE, buffer, 0, &err));
	for (int i = 0; i < SIZE; i++) {
		ck_assert_int_eq(got[i], 'a');
	}
	kz_pinned_release(next);
	release_buffers(flag, buffer);
	kz_stream_release(stream);
}

/* Two streams take turns on one buffer. */
DEVICE_TEST(boxes_are_in_the_order_of_the_calls)
{
	enum { PITCH = 512, HEIGHT = 256, ROUNDS = 10 };
	kz_stream *streams[2];
	kz_buffer *buffer = create_buffer(PITCH * HEIGHT);
	static char got[PITCH * HEIGHT];
	ok(kz_stream_create(&streams[0], dev, 0, &err));
	ok(kz_stream_create(&streams[1], dev, 0, &err));
	for (int i = 0; i < ROUNDS; i++) {
		kz_pinned *pinned = NULL;
		kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
		ok(kz_pinned_create(&pinned, dev, PITCH * HEIGHT, &err));
		memset(kz_pinned_pointer(pinned), 'a' + i, PITCH * HEIGHT);
		box.to = (kz_copy_side){.buffer = buffer, .pitch = PITCH, .x = i};
		box.from = (kz_copy_side){.host = kz_pinned_pointer(pinned),
			.host_size = PITCH * HEIGHT};
		box.width = PITCH - i;
		box.height = HEIGHT;
		ok(kz_copy_3d_on(&box, streams[i % 2], &err));
		kz_pinned_release(pinned);
	}
	ok(kz_copy_dtoh(got, sizeof(got), buffer, 0, &err));
	for (int i = 0; i < PITCH * HEIGHT; i++) {
		int x = i % PITCH;
		ck_assert_int_eq(got[i], 'a' + (x < ROUNDS ? x : ROUNDS - 1));
	}
	kz_stream_release(streams[0]);
	kz_stream_release(streams[1]);
	kz_buffer_release(buffer);
}

/* Pitched memory and fills */

DEVICE_TEST(pitched_memory_has_rows_that_are_aligned)
{
	kz_buffer *buffer = NULL;
	int64_t pitch = 7;
	ok(kz_buffer_create_pitched(&buffer, &pitch, dev, 1000, 3, &err));
	ck_assert_int_eq(pitch, 1024);
	ck_assert_int_eq(kz_buffer_size(buffer), 3 * 1024);
	ck_assert_uint_eq(kz_buffer_address(buffer) % 256, 0);
	kz_buffer_release(buffer);
	ok(kz_buffer_create_pitched(&buffer, &pitch, dev, 0, 3, &err));
	ck_assert(pitch == 0 && kz_buffer_size(buffer) == 0);
	kz_buffer_release(buffer);
	fails(kz_buffer_create_pitched(&buffer, &pitch, dev, -1, 3, &err), KZ_INVALID,
		"got 3 rows of -1 bytes");
	fails(kz_buffer_create_pitched(&buffer, &pitch, dev, INT64_MAX, 1, &err), KZ_RANGE,
		"overflow 64 bits");
	fails(kz_buffer_create_pitched(&buffer, &pitch, dev, 513, INT64_MAX / 1000, &err), KZ_RANGE,
		"overflow 64 bits");
	ck_assert(!buffer && pitch == 0);
	fails(kz_buffer_create_pitched(&buffer, NULL, dev, 8, 8, &err), KZ_INVALID,
		"for the pitch");
	fails(kz_buffer_create_pitched(&buffer, &pitch, NULL, 8, 8, &err), KZ_INVALID, "a device");
}

DEVICE_TEST(rows_are_filled_with_a_pattern)
{
	enum { SIZE = 2048 };
	static char want[SIZE], got[SIZE];
	kz_buffer *buffer = create_buffer(SIZE);
	for (int i = 0; i < 400; i++) {
		int64_t pattern_size = (int64_t)1 << up_to(3), width = pattern_size * up_to(9);
		int64_t height = up_to(9), pitch = width + up_to(9), offset = up_to(30);
		char pattern[8];
		fill_bytes(pattern, 8);
		if (up_to(3) == 0) {
			memcpy(pattern + 4, pattern, 4);
		}
		fill_bytes(want, SIZE);
		ok(kz_copy_htod(buffer, 0, want, SIZE, &err));
		ok(kz_fill_2d(buffer, offset, pitch, width, height, pattern, pattern_size, NULL,
			&err));
		for (int64_t k = 0; k < width * height; k++) {
			want[offset + k / width * pitch + k % width] =
				pattern[k % width % pattern_size];
		}
		ok(kz_copy_dtoh(got, SIZE, buffer, 0, &err));
		ck_assert_mem_eq(got, want, SIZE);
	}
	kz_buffer_release(buffer);
}

DEVICE_TEST(rows_outside_of_the_buffer_are_not_filled)
{
	kz_buffer *buffer = create_buffer(100);
	ok(kz_fill_2d(buffer, 4, 32, 32, 3, "abcd", 4, NULL, &err));
	fails(kz_fill_2d(buffer, 5, 32, 32, 3, "abcd", 4, NULL, &err), KZ_RANGE,
		"96 bytes from offset 5");
	fails(kz_fill_2d(buffer, -1, 32, 32, 1, "abcd", 4, NULL, &err), KZ_RANGE, "from offset -1");
	fails(kz_fill_2d(buffer, 0, 31, 32, 1, "abcd", 4, NULL, &err), KZ_INVALID, "pitch 31");
	fails(kz_fill_2d(buffer, 0, 32, 30, 1, "abcd", 4, NULL, &err), KZ_INVALID, "width 30");
	fails(kz_fill_2d(buffer, 0, 32, 32, -1, "abcd", 4, NULL, &err), KZ_INVALID, "height -1");
	fails(kz_fill_2d(buffer, 0, 32, -4, 1, "abcd", 4, NULL, &err), KZ_INVALID, "width -4");
	fails(kz_fill_2d(buffer, 0, INT64_MAX, 4, 3, "abcd", 4, NULL, &err), KZ_RANGE,
		"overflow 64 bits");
	fails(kz_fill_2d(buffer, 0, 32, 32, 1, "abc", 3, NULL, &err), KZ_INVALID, "got 3");
	fails(kz_fill_2d(buffer, 0, 32, 32, 1, NULL, 4, NULL, &err), KZ_INVALID,
		"expected a pattern");
	fails(kz_fill_2d(NULL, 0, 32, 32, 1, "abcd", 4, NULL, &err), KZ_INVALID,
		"expected a buffer");
	kz_buffer_release(buffer);
}

/* One call of the driver where it can. */
STUB_TEST(aligned_rows_are_one_call_of_the_driver, "")
{
	kz_buffer *buffer = create_buffer(1024);
	ok(kz_fill_2d(buffer, 0, 128, 64, 8, "\1", 1, NULL, &err));
	ok(kz_fill_2d(buffer, 2, 128, 64, 8, "ab", 2, NULL, &err));
	ok(kz_fill_2d(buffer, 4, 128, 64, 8, "abcd", 4, NULL, &err));
	ok(kz_fill_2d(buffer, 0, 128, 64, 8, "abcdabcd", 8, NULL, &err));
	ck_assert_int_eq(support_stub_calls("cuMemsetD2D8Async"), 1);
	ck_assert_int_eq(support_stub_calls("cuMemsetD2D16Async"), 1);
	ck_assert_int_eq(support_stub_calls("cuMemsetD2D32Async"), 2);
	ck_assert_int_eq(support_stub_calls("cuMemsetD8Async"), 0);
	kz_buffer_release(buffer);
}

/* CUDA arrays */

static const struct {
	kz_shape shape;
	kz_cuda_array_kind kind;
	kz_dtype dtype;
	int32_t channels;
	int64_t width, height, depth; /* bytes, rows, slices */
} kinds[] = {
	{{1, {13}}, KZ_CUDA_ARRAY_PLAIN, KZ_F32, 1, 52, 1, 1},
	{{2, {7, 12}}, KZ_CUDA_ARRAY_PLAIN, KZ_U8, 1, 12, 7, 1},
	{{2, {5, 6}}, KZ_CUDA_ARRAY_PLAIN, KZ_U16, 4, 48, 5, 1},
	{{3, {4, 3, 5}}, KZ_CUDA_ARRAY_PLAIN, KZ_I32, 2, 40, 3, 4},
	{{2, {4, 9}}, KZ_CUDA_ARRAY_LAYERED, KZ_I16, 1, 18, 1, 4},
	{{3, {3, 4, 5}}, KZ_CUDA_ARRAY_LAYERED, KZ_U8, 4, 20, 4, 3},
	{{3, {6, 4, 4}}, KZ_CUDA_ARRAY_CUBE, KZ_F32, 1, 16, 4, 6},
};

static kz_cuda_array *create_texels(int kind)
{
	kz_cuda_array *texels = NULL;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.kind = (int32_t)kinds[kind].kind;
	how.channels = kinds[kind].channels;
	ok(kz_cuda_array_create(&texels, dev, kinds[kind].dtype, kinds[kind].shape, &how, &err));
	return texels;
}

/* Copy all between dense host memory and a CUDA array. */
static void move_all(kz_cuda_array *texels, int kind, char *host, int64_t size, bool is_set)
{
	kz_copy_3d_options all = KZ_COPY_3D_OPTIONS_INIT;
	(is_set ? &all.to : &all.from)->texels = texels;
	*(is_set ? &all.from : &all.to) = (kz_copy_side){.host = host, .host_size = size};
	all.width = kinds[kind].width;
	all.height = kinds[kind].height;
	all.depth = kinds[kind].depth;
	ok(kz_copy_3d(&all, &err));
}

/* A part of a CUDA array goes to another place in a second one, on the way through a buffer. */
KERNEL_TEST(parts_of_cuda_arrays_arrive)
{
	static char first[1024], second[1024], got[1024];
	for (int i = 0; i < 20 * (int)countof(kinds); i++) {
		int k = i % (int)countof(kinds);
		int64_t texel = kz_dtype_size(kinds[k].dtype) * kinds[k].channels;
		int64_t w = kinds[k].width / texel, h = kinds[k].height, d = kinds[k].depth;
		int64_t size = w * texel * h * d;
		kz_cuda_array *a = create_texels(k), *b = create_texels(k);
		kz_buffer *buffer = create_buffer(size);
		kz_copy_3d_options part = KZ_COPY_3D_OPTIONS_INIT;
		fill_bytes(first, size);
		fill_bytes(second, size);
		move_all(a, k, first, size, true);
		move_all(b, k, second, size, true);
		part.width = (1 + up_to(w - 1)) * texel;
		part.height = 1 + up_to(h - 1);
		part.depth = 1 + up_to(d - 1);
		const kz_copy_side from = {.texels = a, .x = up_to(w - part.width / texel) * texel,
			.y = up_to(h - part.height), .z = up_to(d - part.depth)};
		const kz_copy_side to = {.texels = b, .x = up_to(w - part.width / texel) * texel,
			.y = up_to(h - part.height), .z = up_to(d - part.depth)};
		part.from = from;
		part.to = i % 2 ? to : (kz_copy_side){.buffer = buffer};
		ok(kz_copy_3d(&part, &err));
		if (i % 2 == 0) {
			part.from = part.to;
			part.to = to;
			ok(kz_copy_3d(&part, &err));
		}
		for (int64_t j = 0; j < part.width * part.height * part.depth; j++) {
			int64_t x = j % part.width, y = j / part.width % part.height;
			int64_t z = j / part.width / part.height;
			second[((to.z + z) * h + to.y + y) * w * texel + to.x + x] =
				first[((from.z + z) * h + from.y + y) * w * texel + from.x + x];
		}
		move_all(b, k, got, size, false);
		ck_assert_mem_eq(got, second, (size_t)size);
		kz_cuda_array_release(a);
		kz_cuda_array_release(b);
		kz_buffer_release(buffer);
	}
}

KERNEL_TEST(a_level_of_a_mipmap_is_a_side)
{
	float host[8][4], got[2][2];
	kz_cuda_array *mipmap = NULL;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	how.levels = 3;
	for (int i = 0; i < 32; i++) {
		host[i / 4][i % 4] = (float)i;
	}
	ok(kz_cuda_array_create(&mipmap, dev, KZ_F32, KZ_SHAPE(16, 8), &how, &err));
	box.to = (kz_copy_side){.texels = mipmap, .level = 1};
	box.from = (kz_copy_side){.host = host, .host_size = sizeof(host)};
	box.width = 16;
	box.height = 8;
	ok(kz_copy_3d(&box, &err));
	box.to = (kz_copy_side){.host = got, .host_size = sizeof(got)};
	box.from = (kz_copy_side){.texels = mipmap, .level = 1, .x = 8, .y = 6};
	box.width = 8;
	box.height = 2;
	ok(kz_copy_3d(&box, &err));
	ck_assert_mem_eq(got, ((float[]){26, 27, 30, 31}), 16);
	box.from.y = 7;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "'from': 8 bytes by 2 by 1 at (8, 7, 0) of a CUDA "
		"array that has 16 by 8 by 1");
	box.from.level = 3;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "level 3 of a CUDA array of 3 levels");
	box.from.level = -1;
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "level -1");
	kz_cuda_array_release(mipmap);
}

KERNEL_TEST(what_is_no_part_of_a_cuda_array_is_told)
{
	enum { KIND = 2 };
	char host[48];
	kz_cuda_array *texels = create_texels(KIND);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	box.to = (kz_copy_side){.texels = texels};
	box.from = (kz_copy_side){.host = host, .host_size = 48};
	box.width = 12;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "'to': expected whole texels of 8 bytes, got 12 "
		"bytes");
	box.width = 8;
	box.to.x = 4;
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "from x = 4 on");
	box.to = (kz_copy_side){.texels = texels, .x = 48};
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "at (48, 0, 0) of a CUDA array that has 48 by 5 by "
		"1");
	box.to = (kz_copy_side){.texels = texels, .z = 1};
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "at (0, 0, 1)");
	box.to = (kz_copy_side){.texels = texels, .y = INT64_MAX};
	fails(kz_copy_3d(&box, &err), KZ_RANGE, "a CUDA array that has 48 by 5 by 1");
	box.to = (kz_copy_side){.texels = texels, .pitch = 48};
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "has no pitch, rows and offset");
	box.to = (kz_copy_side){.texels = texels};
	box.from = (kz_copy_side){.texels = texels};
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "overlaps its target");
	box.from.x = 8;
	ok(kz_copy_3d(&box, &err));
	kz_cuda_array_release(texels);
}

KERNEL_TEST(cuda_arrays_are_copied_in_a_stream)
{
	kz_stream *stream = NULL;
	kz_cuda_array *texels = NULL;
	kz_array *from = support_counted(dev, KZ_SHAPE(6, 5)), *to = NULL;
	int32_t got[30];
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_array_like(&to, from, &err));
	ok(kz_cuda_array_create(&texels, dev, KZ_I32, KZ_SHAPE(6, 5), NULL, &err));
	ok(kz_cuda_array_set_on(texels, 0, from, stream, &err));
	ok(kz_cuda_array_get_on(to, texels, 0, stream, &err));
	ok(kz_array_get(to, got, sizeof(got), &err));
	for (int i = 0; i < 30; i++) {
		ck_assert_int_eq(got[i], i);
	}
	fails(kz_cuda_array_set_on(texels, 0, from, NULL, &err), KZ_INVALID, "expected a stream");
	fails(kz_cuda_array_get_on(to, texels, 1, stream, &err), KZ_RANGE, "level 1");
	fails(kz_cuda_array_get_on(to, NULL, 0, stream, &err), KZ_INVALID, "expected a CUDA array");
	release_arrays(from, to);
	kz_cuda_array_release(texels);
	kz_stream_release(stream);
}

/* Captures */

/* Host memory -> buffer -> CUDA array -> buffer -> host memory, with a fill in between. */
KERNEL_TEST(copies_and_fills_of_boxes_are_captured)
{
	char in[4][8], out[4][6];
	kz_stream *stream = NULL;
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	kz_cuda_array *texels = NULL;
	int64_t pitch;
	kz_buffer *a = NULL, *b = create_buffer(24);
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	ok(kz_stream_create(&stream, dev, 0, &err));
	ok(kz_buffer_create_pitched(&a, &pitch, dev, 8, 4, &err));
	ok(kz_cuda_array_create(&texels, dev, KZ_U8, KZ_SHAPE(4, 6), NULL, &err));
	const kz_copy_side sides[] = {{.host = in, .host_size = sizeof(in), .pitch = 8, .x = 1},
		{.buffer = a, .pitch = pitch}, {.texels = texels}, {.buffer = b},
		{.host = out, .host_size = sizeof(out)}};
	box.width = 6;
	box.height = 4;
	ok(kz_graph_begin(stream, NULL, &err));
	for (int i = 0; i < 4; i++) {
		box.from = sides[i];
		box.to = sides[i + 1];
		ok(kz_copy_3d_on(&box, stream, &err));
		if (i == 0) {
			ok(kz_fill_2d(a, 2, pitch, 2, 4, "##", 2, stream, &err));
		}
	}
	fails(kz_copy_3d(&box, &err), KZ_STATE, "kz_copy_3d: a graph that is being captured");
	ok(kz_graph_end(&graph, stream, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	kz_buffer_release(a);
	kz_buffer_release(b);
	kz_cuda_array_release(texels);
	for (int round = 0; round < 3; round++) {
		memset(in, 'a' + round, sizeof(in));
		memset(out, 0, sizeof(out));
		ok(kz_exec_launch(exec, stream, &err));
		ok(kz_stream_synchronize(stream, &err));
		for (int i = 0; i < 24; i++) {
			ck_assert_int_eq(out[i / 6][i % 6],
				i % 6 == 2 || i % 6 == 3 ? '#' : 'a' + round);
		}
	}
	kz_exec_release(exec);
	kz_stream_release(stream);
}

/* Two devices */

static kz_device *other;

static void open_two(void)
{
	err = (kz_error)KZ_ERROR_INIT;
	open_stub("devices=2;streams=1");
	ok(kz_device_open(&other, "cuda:1", &err));
}

static void close_two(void)
{
	support_close(other);
	close_stub();
}

#define TWO_TEST(name) TEST_BETWEEN(open_two(), close_two(), name)

TWO_TEST(boxes_arrive_on_another_device)
{
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	for (int i = 0; i < 100; i++) {
		copy_any(dev, other, i % 2 ? stream : NULL);
	}
	ck_assert_int_eq(support_stub_calls("cuMemcpy3DPeerAsync"), 100);
	ck_assert_int_eq(support_stub_work("cuMemcpy3DPeerAsync", kz_stream_handle(stream)), 50);
	kz_stream_release(stream);
}

TWO_TEST(a_copy_between_devices_is_not_captured)
{
	kz_stream *stream = NULL;
	kz_graph *graph = NULL;
	kz_buffer *here = create_buffer(64), *there = NULL;
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	ok(kz_buffer_create(&there, other, 64, &err));
	ok(kz_stream_create(&stream, dev, 0, &err));
	box.to.buffer = here;
	box.from.buffer = there;
	box.width = 8;
	ok(kz_graph_begin(stream, NULL, &err));
	fails(kz_copy_dtod_on(here, 0, there, 0, 8, stream, &err), KZ_STATE,
		"kz_copy_dtod_on: a stream of cuda:0 captures");
	fails(kz_copy_3d_on(&box, stream, &err), KZ_STATE, "kz_copy_3d_on: a stream of cuda:0 "
		"captures");
	ok(kz_graph_end(&graph, stream, &err));
	kz_graph_release(graph);
	ok(kz_copy_3d_on(&box, stream, &err));
	release_buffers(here, there);
	kz_stream_release(stream);
}

TWO_TEST(a_failing_copy_between_devices_leaves_both_usable)
{
	kz_buffer *here = create_buffer(64), *there = NULL;
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	ok(kz_buffer_create(&there, other, 64, &err));
	box.to.buffer = here;
	box.from.buffer = there;
	box.width = 8;
	support_stub("devices=2;fail=cuMemcpy3DPeerAsync:2;fail=cuMemcpyPeerAsync:2");
	fails(kz_copy_3d(&box, &err), KZ_DEVICE_MEMORY, "cuMemcpy3DPeerAsync");
	fails(kz_copy_dtod(here, 0, there, 0, 8, &err), KZ_DEVICE_MEMORY, "cuMemcpyPeerAsync");
	support_stub("devices=2");
	ok(kz_copy_3d(&box, &err));
	ok(kz_copy_dtod(here, 0, there, 0, 8, &err));
	release_buffers(here, there);
}

SUITE(copy_3d)
{
	Suite *s = suite_create("copy_3d");
	TCase *tc = suite_add_case(s, "each device");
	tcase_add_tests(tc, support_device_count() + 1, boxes_arrive_between_host_and_buffers,
		a_box_on_the_host_leaves_what_is_beside_it, one_byte_more_than_there_is_is_refused,
		what_is_no_copy_is_told, a_box_that_overlaps_its_target_is_refused,
		a_box_without_bytes_is_checked, boxes_are_in_the_order_of_the_calls,
		pitched_memory_has_rows_that_are_aligned, rows_are_filled_with_a_pattern,
		rows_outside_of_the_buffer_are_not_filled);
	tc = suite_add_case(s, "kernels");
	tcase_add_tests(tc, support_device_count(), parts_of_cuda_arrays_arrive,
		a_level_of_a_mipmap_is_a_side, what_is_no_part_of_a_cuda_array_is_told,
		pinned_memory_stays_until_a_box_is_copied,
		cuda_arrays_are_copied_in_a_stream, copies_and_fills_of_boxes_are_captured);
	tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, aligned_rows_are_one_call_of_the_driver,
		boxes_arrive_on_another_device, a_copy_between_devices_is_not_captured,
		a_failing_copy_between_devices_leaves_both_usable);
	return s;
}
