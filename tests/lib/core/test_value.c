/* SPDX-License-Identifier: MIT */
/* src/lib/core/value.c: streams that wait for values in memory, and write them. */
#include "base/common.h"

#include "lib/core/stream.h"
#include "support/device_test.h"

static kz_stream *create_stream(void)
{
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	return stream;
}

static kz_buffer *create_zeros(int64_t size)
{
	kz_buffer *buffer = create_buffer(size);
	ok(kz_fill(buffer, 0, size, "", 1, NULL, &err));
	ok(kz_device_synchronize(dev, &err));
	return buffer;
}

static const struct {
	kz_wait_condition condition;
	uint64_t before; /* what does not fulfil it */
	uint64_t value;
	uint64_t after;
} conditions[] = {
	{KZ_WAIT_GEQ, 4, 5, 6}, {KZ_WAIT_GEQ, UINT64_MAX, 1, 1}, {KZ_WAIT_EQ, 6, 5, 5},
	{KZ_WAIT_AND, 3, 4, 12}, {KZ_WAIT_NOR, ~(uint64_t)1, 1, 0},
};

KERNEL_TEST(a_stream_waits_until_the_value_is_there)
{
	kz_buffer *buffer = create_zeros(24);
	kz_stream *waits = create_stream(), *writes = create_stream();
	for (size_t i = 0; i < countof(conditions); i++) {
		uint32_t small = (uint32_t)conditions[i].value;
		ok(kz_stream_write_value32(writes, buffer, 4, (uint32_t)conditions[i].before,
			&err));
		ok(kz_stream_write_value64(writes, buffer, 8, conditions[i].before, &err));
		ok(kz_stream_synchronize(writes, &err));
		ok(kz_stream_wait_value32(waits, buffer, 4, small, conditions[i].condition, &err));
		ck_assert_int_eq(kz_stream_query(waits, &err), KZ_NOT_READY);
		ok(kz_stream_write_value32(writes, buffer, 4, (uint32_t)conditions[i].after, &err));
		ok(kz_stream_synchronize(waits, &err));
		ok(kz_stream_wait_value64(waits, buffer, 8, conditions[i].value,
			conditions[i].condition, &err));
		ck_assert_int_eq(kz_stream_query(waits, &err), KZ_NOT_READY);
		ok(kz_stream_write_value64(writes, buffer, 8, conditions[i].after, &err));
		ok(kz_stream_synchronize(waits, &err));
	}
	uint64_t host[3];
	ok(kz_copy_dtoh(host, sizeof(host), buffer, 0, &err));
	ck_assert(host[0] == 0 && host[1] == 0 && host[2] == 0); /* what the last one wrote */
	kz_stream_release(waits);
	kz_stream_release(writes);
	kz_buffer_release(buffer);
}

/* If they were uses of the buffer, the second stream would come after the first, which waits for
 * it. */
KERNEL_TEST(streams_answer_each_other_through_one_buffer)
{
	uint32_t host[2];
	kz_buffer *buffer = create_zeros(8);
	kz_stream *a = create_stream(), *b = create_stream();
	for (uint32_t i = 1; i <= 50; i++) {
		ok(kz_stream_wait_value32(a, buffer, 0, i, KZ_WAIT_EQ, &err));
		ok(kz_stream_write_value32(a, buffer, 4, i, &err));
		ok(kz_stream_write_value32(b, buffer, 0, i, &err));
		ok(kz_stream_wait_value32(b, buffer, 4, i, KZ_WAIT_GEQ, &err));
	}
	ok(kz_stream_synchronize(a, &err));
	ok(kz_stream_synchronize(b, &err));
	ok(kz_copy_dtoh(host, sizeof(host), buffer, 0, &err));
	ck_assert(host[0] == 50 && host[1] == 50);
	kz_stream_release(a);
	kz_stream_release(b);
	kz_buffer_release(buffer);
}

STUB_TEST(a_write_is_one_call_behind_earlier_uses, "streams=1")
{
	kz_buffer *buffer = create_zeros(16);
	kz_stream *stream = create_stream();
	long waits = support_stub_calls("cuStreamWaitEvent");
	ok(kz_stream_write_value64(stream, buffer, 8, 7, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), waits + 1);
	ok(kz_stream_wait_value64(NULL, buffer, 8, 7, KZ_WAIT_EQ, &err));
	ck_assert_int_eq(support_stub_calls("cuStreamWaitEvent"), waits + 1);
	void *handle = kz_stream_handle(stream), *other = kz_stream_handle(kz_device_stream(dev));
	ck_assert_int_eq(support_stub_work("cuStreamWriteValue64", handle), 1);
	ck_assert_int_eq(support_stub_work("cuStreamWaitValue64", other), 1);
	ck_assert_int_eq(support_stub_work(NULL, handle), 1);
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

STUB_TEST(the_end_of_the_memory_waits_for_the_device, "")
{
	kz_buffer *plain = create_zeros(16), *flags = create_zeros(16), *view = NULL;
	ok(kz_stream_write_value32(NULL, flags, 0, 1, &err));
	ok(kz_buffer_view(&view, flags, 0, 4, &err));
	long waits = support_stub_calls("cuCtxSynchronize");
	kz_buffer_release(plain);
	kz_buffer_release(flags);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), waits);
	kz_buffer_release(view);
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), waits + 1);
	kz_buffer_release(create_zeros(16)); /* the same memory: it is an ordinary one again */
	ck_assert_int_eq(support_stub_calls("cuCtxSynchronize"), waits + 2); /* of create_zeros */
}

STUB_TEST(bad_calls_are_refused, "devices=2")
{
	kz_device *other = NULL;
	kz_buffer *buffer = create_zeros(16);
	ok(kz_device_open(&other, "cuda:1", &err));
	fails(kz_stream_wait_value32(NULL, NULL, 0, 0, KZ_WAIT_EQ, &err), KZ_INVALID,
		"expected a buffer, got NULL");
	fails(kz_stream_write_value32(NULL, NULL, 0, 0, &err), KZ_INVALID, "expected a buffer");
	fails(kz_stream_wait_value32(NULL, buffer, 13, 0, KZ_WAIT_EQ, &err), KZ_RANGE, "16");
	fails(kz_stream_wait_value64(NULL, buffer, 12, 0, KZ_WAIT_EQ, &err), KZ_RANGE, "16");
	fails(kz_stream_write_value32(NULL, buffer, -4, 0, &err), KZ_RANGE, "-4");
	fails(kz_stream_write_value64(NULL, buffer, INT64_MAX, 0, &err), KZ_RANGE, "16");
	fails(kz_stream_write_value32(NULL, buffer, 2, 0, &err), KZ_INVALID,
		"expected a value at a multiple of 4 bytes, got address 0x");
	fails(kz_stream_wait_value64(NULL, buffer, 4, 0, KZ_WAIT_EQ, &err), KZ_INVALID,
		"expected a value at a multiple of 8 bytes");
	fails(kz_stream_wait_value32(NULL, buffer, 0, 0, (kz_wait_condition)4, &err), KZ_INVALID,
		"4 is not a kz_wait_condition");
	fails(kz_stream_wait_value64(NULL, buffer, 0, 0, (kz_wait_condition)-1, &err), KZ_INVALID,
		"-1 is not a kz_wait_condition");
	fails(kz_stream_write_value32(kz_device_stream(other), buffer, 0, 0, &err), KZ_INVALID,
		"expected a stream of cuda:0, got one of cuda:1");
	kz_buffer_release(buffer);
	kz_device_close(other);
}

START_TEST(a_driver_without_them_is_named)
{
	support_stub("missing=cuStreamWriteValue32_v2");
	ok(kz_device_open(&dev, "cuda:0", &err));
	kz_buffer *buffer = create_zeros(16);
	fails(kz_stream_write_value32(NULL, buffer, 0, 0, &err), KZ_UNSUPPORTED,
		"does not have cuStreamWriteValue32");
	kz_buffer_release(buffer);
	close_stub();
}
END_TEST

STUB_TEST(failing_calls_reach_the_user,
	"fail=cuStreamWriteValue32_v2:1;fail=cuStreamWaitValue64_v2:1")
{
	kz_buffer *buffer = create_zeros(16);
	fails(kz_stream_write_value32(NULL, buffer, 0, 0, &err), KZ_INVALID,
		"cuStreamWriteValue32");
	fails(kz_stream_wait_value64(NULL, buffer, 0, 0, KZ_WAIT_EQ, &err), KZ_INVALID,
		"cuStreamWaitValue64");
	kz_buffer_release(buffer);
}

SUITE(value)
{
	Suite *s = suite_create("value");
	TCase *tc = suite_add_case(s, "each device");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), a_stream_waits_until_the_value_is_there,
		streams_answer_each_other_through_one_buffer);
	tc = suite_add_case(s, "stub");
	tcase_add_tests(tc, 1, a_write_is_one_call_behind_earlier_uses,
		the_end_of_the_memory_waits_for_the_device, bad_calls_are_refused,
		a_driver_without_them_is_named, failing_calls_reach_the_user);
	return s;
}
