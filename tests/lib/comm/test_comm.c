/* SPDX-License-Identifier: MIT */
/* src/lib/comm: what each collective computes, by our kernels and by NCCL's stub. */
#include "lib/comm/comm_test.h"

#include "support/count.h"

#include <kudzu/graph.h>
#include <kudzu/view.h>

#include <float.h>

/* Small integers, so that sums of four are exact in every type, and products fit into 8 bits. */
static double operand(int member, int64_t i)
{
	return (double)((i * 7 + member * 5 + i / 11) % 3) + 1;
}

/* Reductions */

static const kz_reduce_op ops[] = {KZ_REDUCE_SUM, KZ_REDUCE_PROD, KZ_REDUCE_MIN, KZ_REDUCE_MAX,
	KZ_REDUCE_MEAN};
static const kz_dtype dtypes[] = {KZ_I8, KZ_U8, KZ_I16, KZ_U16, KZ_I32, KZ_U32, KZ_I64, KZ_U64,
	KZ_F16, KZ_BF16, KZ_F32, KZ_F64, KZ_C64, KZ_C128};
static kz_reduce_op op; /* of the test that runs */

static double reduced(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	double value = operand(0, i);
	for (int m = 1; m < members; m++) {
		const double next = operand(m, i);
		value = op == KZ_REDUCE_PROD ? value * next
			: op == KZ_REDUCE_MIN ? fmin(value, next)
			: op == KZ_REDUCE_MAX ? fmax(value, next) : value + next;
	}
	return op == KZ_REDUCE_MEAN ? value / members : value;
}

/* Whether the reduction takes the type; and NCCL does. */
static bool is_taken(kz_dtype dtype, kz_reduce_op wanted, bool by_nccl)
{
	const bool is_complex = dtype == KZ_C64 || dtype == KZ_C128;
	const bool is_exact = dtype <= KZ_U64;
	return !(is_complex && (wanted == KZ_REDUCE_MIN || wanted == KZ_REDUCE_MAX))
		&& !(is_exact && wanted == KZ_REDUCE_MEAN)
		&& !(by_nccl && (dtype == KZ_I16 || dtype == KZ_U16
			|| (is_complex && wanted == KZ_REDUCE_PROD)));
}

/* The index is one of a type, and of an engine. */
COMM_TEST(all_members_get_the_reduction_of_each_type)
{
	const kz_dtype dtype = dtypes[_i / ENGINES];
	for (size_t k = 0; k < countof(ops); k++) {
		kz_array *from[MEMBERS], *into[MEMBERS];
		op = ops[k];
		comm_test_make(from, dtype, 77, operand);
		comm_test_make(into, dtype, 77, operand);
		if (is_taken(dtype, op, kz_comm_uses_nccl(comm))) {
			ok(kz_comm_all_reduce(comm, into, from, op, NULL, &err));
			comm_test_expect_all(into, reduced);
			comm_test_expect_all(from, operand);
		} else {
			fails(kz_comm_all_reduce(comm, into, from, op, NULL, &err), KZ_UNSUPPORTED,
				kz_dtype_name(dtype));
		}
		comm_test_release(from);
		comm_test_release(into);
	}
}

static double truth(int member, int64_t i)
{
	return (i >> member & 1) != 0;
}

static double all_true(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return (i & 15) == 15;
}

static double any_true(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return (i & 15) != 0;
}

COMM_TEST(of_bool_the_least_is_all_and_the_greatest_any)
{
	kz_array *from[MEMBERS], *into[MEMBERS];
	comm_test_make(from, KZ_BOOL, 64, truth);
	comm_test_make(into, KZ_BOOL, 64, truth);
	ok(kz_comm_all_reduce(comm, into, from, KZ_REDUCE_MIN, NULL, &err));
	comm_test_expect_all(into, all_true);
	ok(kz_comm_all_reduce(comm, into, from, KZ_REDUCE_MAX, NULL, &err));
	comm_test_expect_all(into, any_true);
	fails(kz_comm_all_reduce(comm, into, from, KZ_REDUCE_SUM, NULL, &err), KZ_UNSUPPORTED,
		"does not take bool");
	comm_test_release(from);
	comm_test_release(into);
}

/* Numbers of which sums in different orders have different bits. */
static double rounding(int member, int64_t i)
{
	static const double scales[MEMBERS] = {1, 1e7, -1e7, 3};
	return (float)(scales[(member + i) % MEMBERS] * (1 + (double)(i % 1009) / 1009));
}

static double rounded_sum(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	float sum = (float)rounding(0, i);
	for (int m = 1; m < members; m++) {
		sum += (float)rounding(m, i);
	}
	return sum;
}

/* One part and several, with a rest; results in the place of the operands. */
COMM_TEST(a_sum_is_in_the_order_of_the_members)
{
	static const int64_t counts[] = {1, 63, 70000, 300001};
	for (size_t k = 0; k < countof(counts); k++) {
		kz_array *arrays[MEMBERS];
		comm_test_make(arrays, KZ_F32, counts[k], rounding);
		ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
		comm_test_expect_all(arrays, rounded_sum);
		comm_test_release(arrays);
	}
}

/* Sums of halves are rounded once. */
static double halves(int member, int64_t i)
{
	return member == 0 ? 2048 : member == 1 ? 1 : member == 2 ? 1 : (double)(i % 2);
}

static double halves_sum(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return i % 2 ? 2052 : 2050; /* of 2051, which lies between two, the even one */
}

COMM_TEST(halves_are_rounded_once)
{
	kz_array *arrays[MEMBERS];
	if (members < MEMBERS || comm_test_is_cuda()) {
		return;
	}
	comm_test_make(arrays, KZ_F16, 9, halves);
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, NULL, &err));
	comm_test_expect_all(arrays, halves_sum);
	comm_test_release(arrays);
}

COMM_TEST(one_member_gets_a_reduction)
{
	for (int root = 0; root < members; root++) {
		kz_array *from[MEMBERS], *into[MEMBERS];
		op = KZ_REDUCE_SUM;
		comm_test_make(from, KZ_F32, 300001, operand);
		comm_test_make(into, KZ_F32, 300001, operand);
		ok(kz_comm_reduce(comm, into[root], from, op, root, NULL, &err));
		for (int m = 0; m < members; m++) {
			comm_test_expect(into[m], m, m == root ? reduced : operand);
		}
		comm_test_expect_all(from, operand);
		ok(kz_comm_reduce(comm, from[root], from, op, root, NULL, &err));
		comm_test_expect(from[root], root, reduced);
		comm_test_release(from);
		comm_test_release(into);
	}
}

enum { PART = 1001 };

static double reduced_part(int member, int64_t i)
{
	return reduced(member, member * PART + i);
}

COMM_TEST(each_member_gets_a_part_of_a_reduction)
{
	kz_array *from[MEMBERS], *into[MEMBERS], *own[MEMBERS];
	op = KZ_REDUCE_MAX;
	comm_test_make(from, KZ_I32, PART * members, operand);
	comm_test_make(into, KZ_I32, PART, operand);
	ok(kz_comm_reduce_scatter(comm, into, from, op, NULL, &err));
	comm_test_expect_all(into, reduced_part);
	comm_test_expect_all(from, operand);
	for (int m = 0; m < members; m++) {
		ok(kz_array_slice(&own[m], from[m], KZ_AT(KZ_SLICE(m * PART, (m + 1) * PART)),
			&err));
	}
	ok(kz_comm_reduce_scatter(comm, own, from, op, NULL, &err));
	comm_test_expect_all(own, reduced_part);
	comm_test_release(own);
	comm_test_release(from);
	comm_test_release(into);
}

/* Copies */

static int sender; /* of the test that runs */

static double sent(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return operand(sender, i);
}

/* Every size of an element, at addresses that are multiples of it and no more. */
COMM_TEST(a_broadcast_copies_any_type)
{
	static const kz_dtype copied[] = {KZ_U8, KZ_F16, KZ_BOOL, KZ_F8_E4M3, KZ_F32, KZ_C64,
		KZ_C128};
	static const int64_t counts[] = {1, 7, 33, 200003};
	for (size_t k = 0; k < countof(copied) * countof(counts); k++) {
		kz_array *whole[MEMBERS], *arrays[MEMBERS];
		const int64_t count = counts[k % countof(counts)];
		comm_test_make(whole, copied[k / countof(counts)], count + 1, operand);
		for (int m = 0; m < members; m++) {
			ok(kz_array_slice(&arrays[m], whole[m],
				KZ_AT(KZ_SLICE(m % 2, count + m % 2)), &err));
		}
		sender = (int)k % members;
		ok(kz_comm_broadcast(comm, arrays, sender, NULL, &err));
		for (int m = 0; m < members; m++) {
			double *found = support_read(arrays[m], KZ_F64);
			for (int64_t i = 0; i < count; i++) {
				double wanted = operand(sender, i + sender % 2);
				const bool is_bool = copied[k / countof(counts)] == KZ_BOOL;
				wanted = is_bool ? wanted != 0 : wanted;
				ck_assert_double_eq(found[i], wanted);
			}
			free(found);
		}
		comm_test_release(arrays);
		comm_test_release(whole);
	}
}

static double gathered(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return operand((int)(i / PART), i % PART);
}

COMM_TEST(all_members_get_all_arrays)
{
	kz_array *from[MEMBERS], *into[MEMBERS], *own[MEMBERS];
	comm_test_make(from, KZ_I16, PART, operand);
	comm_test_make(into, KZ_I16, PART * members, operand);
	ok(kz_comm_all_gather(comm, into, from, NULL, &err));
	comm_test_expect_all(into, gathered);
	for (int m = 0; m < members; m++) {
		ok(kz_array_slice(&own[m], into[m], KZ_AT(KZ_SLICE(m * PART, (m + 1) * PART)),
			&err));
		ok(kz_array_fill(into[m], KZ_ARG(0), &err));
		ok(kz_array_assign(own[m], from[m], &err));
	}
	ok(kz_comm_all_gather(comm, into, own, NULL, &err));
	comm_test_expect_all(into, gathered);
	comm_test_release(own);
	comm_test_release(from);
	comm_test_release(into);
}

static double exchanged(int member, int64_t i)
{
	return operand((int)(i / PART), member * PART + i % PART);
}

COMM_TEST(each_member_sends_a_part_to_each)
{
	kz_array *from[MEMBERS], *into[MEMBERS];
	comm_test_make(from, KZ_F32, PART * members, operand);
	comm_test_make(into, KZ_F32, PART * members, operand);
	ok(kz_comm_all_to_all(comm, into, from, NULL, &err));
	comm_test_expect_all(into, exchanged);
	comm_test_expect_all(from, operand);
	comm_test_release(from);
	comm_test_release(into);
}

/* Messages */

static double from_left(int member, int64_t i)
{
	return operand((member + members - 1) % members, i);
}

COMM_TEST(members_pass_messages_around)
{
	kz_array *from[MEMBERS], *into[MEMBERS];
	comm_test_make(from, KZ_F64, 100, operand);
	comm_test_make(into, KZ_F64, 100, operand);
	ok(kz_comm_group_begin(comm, &err));
	for (int m = 0; m < members; m++) {
		ok(kz_comm_receive(comm, into[m], m, (m + members - 1) % members, NULL, &err));
		ok(kz_comm_send(comm, from[m], m, (m + 1) % members, NULL, &err));
	}
	ok(kz_comm_group_end(comm, &err));
	comm_test_expect_all(into, from_left);
	comm_test_expect_all(from, operand);
	comm_test_release(from);
	comm_test_release(into);
}

/* Two messages between the same members arrive in their order, beside a collective. */
COMM_TEST(a_group_has_several_calls)
{
	kz_array *from[MEMBERS], *into[MEMBERS], *sums[MEMBERS];
	comm_test_make(from, KZ_F64, 100, operand);
	comm_test_make(into, KZ_F64, 100, operand);
	comm_test_make(sums, KZ_F32, 50, operand);
	op = KZ_REDUCE_SUM;
	ok(kz_comm_group_begin(comm, &err));
	ok(kz_comm_send(comm, from[0], 0, 1, NULL, &err));
	ok(kz_comm_all_reduce(comm, sums, sums, op, NULL, &err));
	ok(kz_comm_send(comm, sums[0], 0, 1, NULL, &err));
	ok(kz_comm_receive(comm, into[1], 1, 0, NULL, &err));
	fails(kz_comm_group_end(comm, &err), KZ_INVALID,
		"member 0 sends to member 1, which does not receive from it");
	comm_test_expect_all(sums, operand);
	ok(kz_comm_group_begin(comm, &err));
	ok(kz_comm_send(comm, from[0], 0, 1, NULL, &err));
	ok(kz_comm_all_reduce(comm, sums, sums, op, NULL, &err));
	ok(kz_comm_receive(comm, into[1], 1, 0, NULL, &err));
	ok(kz_comm_group_end(comm, &err));
	sender = 0;
	comm_test_expect(into[1], 1, sent);
	comm_test_expect_all(sums, reduced);
	ok(kz_comm_group_begin(comm, &err));
	ok(kz_comm_group_end(comm, &err));
	comm_test_release(from);
	comm_test_release(into);
	comm_test_release(sums);
}

/* Order */

static const char slow_source[] =
	"__global__ void slow(float *x, int n, float value)\n"
	"{ float y = value; for (int i = 0; i < 3000000; i++) y = y * 0.5f + value * 0.5f;\n"
	"for (int i = 0; i < n; i++) x[i] = y; }\n";

static double fives(int member CK_ATTRIBUTE_UNUSED, int64_t i CK_ATTRIBUTE_UNUSED)
{
	return 5.0 * members;
}

/* What all members have of a reduction of PART elements, one after the other. */
static double reduced_each(int member, int64_t i)
{
	return reduced(member, i % PART);
}

/* Earlier work in the streams is waited for, in whatever streams it is, and later work waits. */
COMM_TEST(a_call_is_ordered_with_other_work)
{
	kz_stream *streams[MEMBERS], *others[MEMBERS];
	kz_module *modules[MEMBERS];
	kz_kernel *kernel;
	kz_array *arrays[MEMBERS], *copies[MEMBERS];
	comm_test_make(arrays, KZ_F32, 1000, operand);
	for (int m = 0; m < members; m++) {
		kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
		ok(kz_stream_create(&streams[m], devices[m], 0, &err));
		ok(kz_stream_create(&others[m], devices[m], 0, &err));
		ok(kz_module_compile(&modules[m], devices[m], slow_source, NULL, &err));
		ok(kz_module_kernel(&kernel, modules[m], "slow", &err));
		options.stream = others[m];
		ok(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), &options, &err,
			KZ_ARGS(arrays[m], 1000, 5.0f)));
	}
	ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_SUM, streams, &err));
	for (int m = 0; m < members; m++) {
		ok(kz_array_copy_on(&copies[m], arrays[m], others[m], &err));
	}
	comm_test_expect_all(copies, fives);
	ok(kz_comm_synchronize(comm, &err));
	comm_test_release(arrays);
	comm_test_release(copies);
	for (int m = 0; m < members; m++) {
		kz_stream_release(streams[m]);
		kz_stream_release(others[m]);
		kz_module_release(modules[m]);
	}
}

/* Two calls of one communicator in streams of their own, of which the second uses what the first
 * gives; and two that share nothing. */
COMM_TEST(calls_in_several_streams_do_not_mix)
{
	kz_stream *first[MEMBERS], *second[MEMBERS];
	kz_array *sums[MEMBERS], *all[MEMBERS], *others[MEMBERS];
	op = KZ_REDUCE_SUM;
	comm_test_make(sums, KZ_F64, PART, operand);
	comm_test_make(all, KZ_F64, PART * members, operand);
	comm_test_make(others, KZ_I32, 300001, operand);
	for (int m = 0; m < members; m++) {
		ok(kz_stream_create(&first[m], devices[m], 0, &err));
		ok(kz_stream_create(&second[m], devices[m], 0, &err));
	}
	ok(kz_comm_all_reduce(comm, sums, sums, op, first, &err));
	ok(kz_comm_all_reduce(comm, others, others, op, second, &err));
	ok(kz_comm_all_gather(comm, all, sums, second, &err));
	ok(kz_comm_synchronize(comm, &err));
	comm_test_expect_all(sums, reduced);
	comm_test_expect_all(others, reduced);
	comm_test_expect_all(all, reduced_each);
	comm_test_release(sums);
	comm_test_release(all);
	comm_test_release(others);
	for (int m = 0; m < members; m++) {
		kz_stream_release(first[m]);
		kz_stream_release(second[m]);
	}
}

static double thrice(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	double value = reduced(0, i); /* then all have the same: it becomes members times as much */
	return value * members * members;
}

COMM_TEST(calls_are_captured_into_a_graph)
{
	kz_stream *streams[MEMBERS];
	kz_array *arrays[MEMBERS];
	kz_graph *graph = NULL;
	kz_exec *exec = NULL;
	if (kz_comm_uses_nccl(comm)) { /* the stub waits for streams */
		return;
	}
	op = KZ_REDUCE_SUM;
	comm_test_make(arrays, KZ_F64, 5000, operand);
	for (int m = 0; m < members; m++) {
		ok(kz_stream_create(&streams[m], devices[m], 0, &err));
	}
	ok(kz_comm_all_reduce(comm, arrays, arrays, op, streams, &err)); /* compiled before */
	comm_test_release(arrays);
	comm_test_make(arrays, KZ_F64, 5000, operand);
	ok(kz_graph_begin(streams[1], NULL, &err));
	ok(kz_comm_all_reduce(comm, arrays, arrays, op, streams, &err));
	fails(kz_comm_synchronize(comm, &err), KZ_STATE, "captures a graph");
	ok(kz_graph_end(&graph, streams[1], &err));
	comm_test_expect_all(arrays, operand);
	ok(kz_graph_instantiate(&exec, graph, &err));
	for (int i = 0; i < 3; i++) {
		ok(kz_exec_launch(exec, streams[1], &err));
	}
	comm_test_expect_all(arrays, thrice);
	ok(kz_comm_all_reduce(comm, arrays, arrays, op, streams, &err));
	ok(kz_comm_synchronize(comm, &err));
	kz_exec_release(exec);
	kz_graph_release(graph);
	comm_test_release(arrays);
	for (int m = 0; m < members; m++) {
		kz_stream_release(streams[m]);
	}
}

/* Extremes */

COMM_TEST(empty_arrays_and_one_member_are_fine)
{
	kz_array *from[MEMBERS], *into[MEMBERS];
	comm_test_make(from, KZ_F32, 0, operand);
	ok(kz_comm_all_reduce(comm, from, from, KZ_REDUCE_SUM, NULL, &err));
	ok(kz_comm_all_gather(comm, from, from, NULL, &err));
	ok(kz_comm_broadcast(comm, from, 1, NULL, &err));
	comm_test_release(from);
	kz_comm *one = comm_test_create(kz_comm_uses_nccl(comm) ? ENGINE_NCCL : ENGINE_OWN, 1);
	comm_test_make(from, KZ_F32, 100, operand);
	comm_test_make(into, KZ_F32, 100, halves);
	ck_assert_int_eq(kz_comm_count(one), 1);
	ok(kz_comm_all_reduce(one, into, from, KZ_REDUCE_MEAN, NULL, &err));
	comm_test_expect(into[0], 0, operand);
	ok(kz_comm_synchronize(one, &err));
	kz_comm_release(one);
	comm_test_release(from);
	comm_test_release(into);
}

static double same(int member CK_ATTRIBUTE_UNUSED, int64_t i)
{
	return rounding(0, i);
}

/* The mean of equal numbers is that number, whatever the round; a mistake would grow. */
COMM_TEST(ten_thousand_calls_give_the_same_bits)
{
	kz_array *arrays[MEMBERS];
	if (kz_comm_uses_nccl(comm) || members != MEMBERS) {
		return;
	}
	comm_test_make(arrays, KZ_F32, 100, same);
	for (int i = 0; i < 10000; i++) {
		ok(kz_comm_all_reduce(comm, arrays, arrays, KZ_REDUCE_MEAN, NULL, &err));
	}
	ok(kz_comm_synchronize(comm, &err));
	comm_test_expect_all(arrays, same);
	comm_test_release(arrays);
}

COMM_TEST(many_communicators_work_side_by_side)
{
	enum { COMMS = 64 };
	kz_comm *comms[COMMS];
	kz_array *arrays[MEMBERS];
	comm_test_make(arrays, KZ_F32, 100, same);
	for (int i = 0; i < COMMS; i++) {
		comms[i] = comm_test_create(kz_comm_uses_nccl(comm) ? ENGINE_NCCL : ENGINE_OWN,
			members);
	}
	for (int i = 0; i < COMMS; i++) {
		ok(kz_comm_all_reduce(comms[i], arrays, arrays, KZ_REDUCE_MAX, NULL, &err));
	}
	for (int i = 0; i < COMMS; i++) {
		ok(kz_comm_synchronize(comms[i], &err));
		kz_comm_release(comms[i]);
	}
	comm_test_expect_all(arrays, same);
	comm_test_release(arrays);
}

SUITE(comm)
{
	Suite *s = suite_create("comm");
	TCase *tc = suite_add_case(s, "reductions");
	tcase_add_loop_test(tc, all_members_get_the_reduction_of_each_type, 0,
		ENGINES * (int)countof(dtypes));
	tcase_add_loop_test(tc, of_bool_the_least_is_all_and_the_greatest_any, 0, ENGINES);
	tcase_add_test(tc, a_sum_is_in_the_order_of_the_members);
	tcase_add_test(tc, halves_are_rounded_once);
	tcase_add_loop_test(tc, one_member_gets_a_reduction, 0, ENGINES);
	tcase_add_loop_test(tc, each_member_gets_a_part_of_a_reduction, 0, ENGINES);
	tc = suite_add_case(s, "copies");
	tcase_add_loop_test(tc, a_broadcast_copies_any_type, 0, ENGINES);
	tcase_add_loop_test(tc, all_members_get_all_arrays, 0, ENGINES);
	tcase_add_loop_test(tc, each_member_sends_a_part_to_each, 0, ENGINES);
	tcase_add_loop_test(tc, members_pass_messages_around, 0, ENGINES);
	tcase_add_loop_test(tc, a_group_has_several_calls, 0, ENGINES);
	tc = suite_add_case(s, "order");
	tcase_add_loop_test(tc, a_call_is_ordered_with_other_work, 0, ENGINES);
	tcase_add_loop_test(tc, calls_in_several_streams_do_not_mix, 0, ENGINES);
	tcase_add_loop_test(tc, calls_are_captured_into_a_graph, 0, ENGINES);
	tc = suite_add_case(s, "extremes");
	tcase_add_loop_test(tc, empty_arrays_and_one_member_are_fine, 0, ENGINES);
	tcase_add_loop_test(tc, ten_thousand_calls_give_the_same_bits, 0, ENGINES);
	tcase_add_loop_test(tc, many_communicators_work_side_by_side, 0, ENGINES);
	return s;
}
