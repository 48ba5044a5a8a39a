/* SPDX-License-Identifier: MIT */
/*
 * The collective calls: arguments become a struct comm_call, which an engine does at once, or at
 * the end of its group.
 *
 * `wants` says what each kind takes.  The operands of a member have `count` elements or, where they
 * have parts, `count` for each member of the communicator; so do the results.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "lib/comm/comm.h"

#include <inttypes.h>

static const struct comm_want {
	bool from_has_parts, into_has_parts;
	bool is_apart;      /* operands and results have no byte in common */
} wants[] = {
	[COMM_ALL_REDUCE] = {false, false, false},
	[COMM_REDUCE] = {false, false, false},
	[COMM_REDUCE_SCATTER] = {true, false, false},
	[COMM_BROADCAST] = {false, false, false},
	[COMM_ALL_GATHER] = {false, true, false},
	[COMM_ALL_TO_ALL] = {true, true, true},
	[COMM_SEND] = {false, false, false},
	[COMM_RECEIVE] = {false, false, false},
};

/* Arguments */

static kz_status comm_check_op(kz_reduce_op op, kz_dtype dtype, kz_error *err)
{
	static const unsigned takes[] = {
		[KZ_REDUCE_SUM] = DTYPE_INTEGER | DTYPE_INEXACT,
		[KZ_REDUCE_PROD] = DTYPE_INTEGER | DTYPE_INEXACT,
		[KZ_REDUCE_MIN] = DTYPE_EXACT | DTYPE_FLOAT,
		[KZ_REDUCE_MAX] = DTYPE_EXACT | DTYPE_FLOAT,
		[KZ_REDUCE_MEAN] = DTYPE_INEXACT,
	};
	if ((unsigned)op >= sizeof(takes) / sizeof(*takes) || !takes[op]) {
		return error_set(err, KZ_INVALID, "argument 'op': expected KZ_REDUCE_SUM, _PROD, "
			"_MIN, _MAX or _MEAN, got %d", (int)op);
	}
	return dtype_kind(dtype) & takes[op] ? KZ_OK : error_set(err, KZ_UNSUPPORTED,
		"this reduction does not take %s", dtype_refused(dtype));
}

static kz_status comm_check_member(const struct kz_comm *comm, int member, const char *argument,
	kz_error *err)
{
	return member >= 0 && member < comm->count ? KZ_OK : error_set(err, KZ_INVALID,
		"argument '%s': expected a member from 0 to %d, got %d", argument, comm->count - 1,
		member);
}

/* Put an array of a member into a call, as its operand or its result.  All arrays must match the
 * first one. */
static kz_status comm_take_array(const struct kz_comm *comm, struct comm_call *call, int member,
	bool is_operand, struct kz_array *array, kz_error *err)
{
	const struct comm_want *want = &wants[call->kind];
	const char *argument = call->kind == COMM_BROADCAST ? "arrays"
		: is_operand ? "from" : "into";
	const bool has_parts = is_operand ? want->from_has_parts : want->into_has_parts;
	const int64_t parts = has_parts ? comm->count : 1;
	const struct kz_device *dev = comm->members[member].device;
	const int number = comm->first + member;
	kz_status st = object_check_as(array, OBJECT_ARRAY, argument, err);
	if (st) {
		return st;
	}
	if (array_device(array) != dev) {
		return error_set(err, KZ_INVALID, "argument '%s': member %d is %s, and its array "
			"is on %s", argument, number, dev->name, array_device(array)->name);
	}
	if (!array_is_contiguous(array)) {
		return error_set(err, KZ_INVALID, "argument '%s': the array of member %d has gaps; "
			"kz_array_copy makes one without", argument, number);
	}
	if (!call->dtype && array->count % parts == 0) {
		call->dtype = array->dtype;
		call->count = array->count / parts;
	} else if (!call->dtype) {
		return error_set(err, KZ_INVALID, "argument '%s': expected a multiple of %d "
			"elements, one part for each member, got %" PRId64, argument, comm->count,
			array->count);
	}
	if (array->dtype != call->dtype || array->count != parts * call->count) {
		return error_set(err, KZ_INVALID, "argument '%s': expected %" PRId64 " elements of "
			"%s, got %" PRId64 " of %s for member %d", argument, parts * call->count,
			kz_dtype_name(call->dtype), array->count, kz_dtype_name(array->dtype),
			number);
	}
	struct comm_end *end = &call->ends[member];
	*(is_operand ? &end->from : &end->into) = (struct comm_side){
		memory_retain(array->buffer->memory), array_address(array)};
	return KZ_OK;
}

/* Operands and results of a member may be the same elements, or have nothing in common. */
static kz_status comm_check_overlap(const struct kz_comm *comm, const struct comm_call *call,
	int member, kz_error *err)
{
	const struct comm_want *want = &wants[call->kind];
	const struct comm_end *end = &call->ends[member];
	const uint64_t part = (uint64_t)(call->count * kz_dtype_size(call->dtype));
	const uint64_t from_size = part * (unsigned)(want->from_has_parts ? comm->count : 1);
	const uint64_t into_size = part * (unsigned)(want->into_has_parts ? comm->count : 1);
	const uint64_t from = end->from.address, into = end->into.address;
	const uint64_t own = part * (unsigned)(comm->first + member);
	const bool is_same = !want->is_apart && into + (want->into_has_parts ? own : 0)
			== from + (want->from_has_parts ? own : 0);
	return from + from_size <= into || into + into_size <= from || is_same ? KZ_OK
		: error_set(err, KZ_INVALID, "the operand and the result of member %d have bytes "
			"in common", comm->first + member);
}

/* Streams of all members; NULL for those that a NULL list, or an entry of it, leaves open. */
static kz_status comm_take_stream(const struct kz_comm *comm, struct comm_call *call, int member,
	kz_stream *const *streams, kz_error *err)
{
	struct kz_stream *stream;
	kz_status st = stream_pick(&stream, comm->members[member].device,
		streams ? streams[member] : NULL, err);
	if (!st) {
		call->ends[member].stream = stream_retain(stream);
	}
	return st;
}

static kz_status comm_call_begin(struct comm_call **out, struct kz_comm *comm, enum comm_kind kind,
	kz_error *err)
{
	kz_status st;
	*out = NULL;
	if ((st = object_check(comm, OBJECT_COMM, err)) || (st = comm_check_usable(comm, err))) {
		return st;
	}
	*out = mem_zalloc(1, sizeof(**out) + (size_t)comm->local_count * sizeof(*(*out)->ends));
	if (!*out) {
		return error_no_memory(err);
	}
	(*out)->kind = kind;
	return KZ_OK;
}

/* Doing it */

/* The failure of an engine: if a device was lost, that is why. */
static kz_status comm_run(struct kz_comm *comm, struct comm_call *calls, kz_error *err)
{
	kz_error cause = KZ_ERROR_INIT;
	kz_status st = (comm->nccl ? comm_nccl_run : comm_own_run)(comm, calls, &cause);
	for (int i = 0; i < comm->local_count && st; i++) {
		if (atomic_load(&comm->members[i].device->lost)) {
			kz_error_clear(&cause);
			(void)device_report_loss(comm->members[i].device, &cause);
			return comm_break(comm, i, &cause, err);
		}
	}
	(void)error_copy(err, &cause);
	kz_error_clear(&cause);
	return st;
}

/* The end of a public call: do it, or keep it for the end of the group.  Takes the call. */
static kz_status comm_call_end(struct kz_comm *comm, struct comm_call *call, kz_status st,
	kz_error *err)
{
	if (!st && comm->is_group) {
		*comm->last_call = call;
		comm->last_call = &call->next;
		return KZ_OK;
	}
	st = st ? st : comm_run(comm, call, err);
	if (call) {
		comm_call_free(comm, call);
	}
	return st;
}

/* What the program gives: an entry for each member of this process; `into` and `streams` may be
 * NULL. */
struct comm_lists {
	kz_array *const *into, *const *from;
	kz_stream *const *streams;
};

static kz_status comm_take_lists(const struct kz_comm *comm, struct comm_call *call,
	const struct comm_lists *lists, kz_error *err)
{
	kz_status st = KZ_OK;
	if (!lists->from || (!lists->into && call->kind != COMM_REDUCE)) {
		return error_set(err, KZ_INVALID, "argument '%s': expected a list of arrays, got "
			"NULL", lists->from ? "into" : "from");
	}
	for (int i = 0; i < comm->local_count && !st; i++) {
		if (!(st = comm_take_array(comm, call, i, true, lists->from[i], err))
		    && !(st = comm_take_stream(comm, call, i, lists->streams, err))
		    && lists->into
		    && !(st = comm_take_array(comm, call, i, false, lists->into[i], err))) {
			st = comm_check_overlap(comm, call, i, err);
		}
	}
	return st;
}

/* A call in which all members have the same part; `op` is NULL unless it is a reduction. */
static kz_status comm_collect(kz_comm *comm, enum comm_kind kind, const kz_reduce_op *op,
	const struct comm_lists *lists, kz_error *err)
{
	struct comm_call *call;
	kz_status st = comm_call_begin(&call, comm, kind, err);
	st = st ? st : comm_take_lists(comm, call, lists, err);
	if (!st && op) {
		call->op = *op;
		st = comm_check_op(*op, call->dtype, err);
	}
	return comm_call_end(comm, call, st, err);
}

kz_status kz_comm_all_reduce(kz_comm *comm, kz_array *const *into, kz_array *const *from,
	kz_reduce_op op, kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	const struct comm_lists lists = {into, from, streams};
	return comm_collect(comm, COMM_ALL_REDUCE, &op, &lists, err);
}

kz_status kz_comm_reduce_scatter(kz_comm *comm, kz_array *const *into, kz_array *const *from,
	kz_reduce_op op, kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	const struct comm_lists lists = {into, from, streams};
	return comm_collect(comm, COMM_REDUCE_SCATTER, &op, &lists, err);
}

kz_status kz_comm_all_gather(kz_comm *comm, kz_array *const *into, kz_array *const *from,
	kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	const struct comm_lists lists = {into, from, streams};
	return comm_collect(comm, COMM_ALL_GATHER, NULL, &lists, err);
}

kz_status kz_comm_all_to_all(kz_comm *comm, kz_array *const *into, kz_array *const *from,
	kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	const struct comm_lists lists = {into, from, streams};
	return comm_collect(comm, COMM_ALL_TO_ALL, NULL, &lists, err);
}

/* The result of the root, whose member is in this process or not. */
static kz_status comm_take_root(const struct kz_comm *comm, struct comm_call *call,
	struct kz_array *into, kz_error *err)
{
	const int member = call->root - comm->first;
	kz_status st;
	if (member < 0 || member >= comm->local_count) {
		return !into ? KZ_OK : error_set(err, KZ_INVALID, "argument 'into': expected NULL, "
			"since member %d is in another process", call->root);
	}
	st = comm_take_array(comm, call, member, false, into, err);
	return st ? st : comm_check_overlap(comm, call, member, err);
}

kz_status kz_comm_reduce(kz_comm *comm, kz_array *into, kz_array *const *from, kz_reduce_op op,
	int root, kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	const struct comm_lists lists = {NULL, from, streams};
	struct comm_call *call;
	kz_status st = comm_call_begin(&call, comm, COMM_REDUCE, err);
	if (!st && !(st = comm_check_member(comm, root, "root", err))
	    && !(st = comm_take_lists(comm, call, &lists, err))) {
		call->op = op;
		call->root = root;
		st = comm_take_root(comm, call, into, err);
		st = st ? st : comm_check_op(op, call->dtype, err);
	}
	return comm_call_end(comm, call, st, err);
}

kz_status kz_comm_broadcast(kz_comm *comm, kz_array *const *arrays, int root,
	kz_stream *const *streams, kz_error *err)
{
	error_scope(err);
	struct comm_call *call;
	kz_status st = comm_call_begin(&call, comm, COMM_BROADCAST, err);
	if (!st && !(st = comm_check_member(comm, root, "root", err)) && !arrays) {
		st = error_set(err, KZ_INVALID, "argument 'arrays': expected a list of arrays, got "
			"NULL");
	}
	for (int i = 0; !st && i < comm->local_count; i++) {
		call->root = root;
		st = comm_take_array(comm, call, i, comm->first + i == root, arrays[i], err);
		st = st ? st : comm_take_stream(comm, call, i, streams, err);
	}
	return comm_call_end(comm, call, st, err);
}

/* Groups */

kz_status kz_comm_group_begin(kz_comm *comm, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(comm, OBJECT_COMM, err)) || (st = comm_check_usable(comm, err))) {
		return st;
	}
	if (comm->is_group) {
		return error_set(err, KZ_STATE, "a group has begun already");
	}
	comm->is_group = true;
	return KZ_OK;
}

/* One end of a message, between the members that the call names. */
static kz_status comm_take_message(kz_comm *comm, struct comm_call *call, kz_array *array,
	kz_stream *stream, kz_error *err)
{
	const int member = call->member;
	kz_status st;
	if (!comm->is_group) {
		return error_set(err, KZ_STATE, "messages need a group: kz_comm_group_begin");
	}
	if ((st = comm_check_member(comm, member, "member", err))
	    || (st = comm_check_member(comm, call->root, "peer", err))) {
		return st;
	}
	if (member == call->root) {
		return error_set(err, KZ_INVALID, "expected two members, got %d twice", member);
	}
	call->member -= comm->first;
	if (call->member < 0 || call->member >= comm->local_count) {
		return error_set(err, KZ_INVALID, "member %d is in another process", member);
	}
	if (!(st = comm_take_array(comm, call, call->member, call->kind == COMM_SEND, array, err))
	    && !(st = stream_pick(&stream, comm->members[call->member].device, stream, err))) {
		call->ends[call->member].stream = stream_retain(stream);
	}
	return st;
}

kz_status kz_comm_send(kz_comm *comm, kz_array *from, int member, int peer, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct comm_call *call;
	kz_status st = comm_call_begin(&call, comm, COMM_SEND, err);
	if (!st) {
		call->member = member;
		call->root = peer;
		st = comm_take_message(comm, call, from, stream, err);
	}
	return comm_call_end(comm, call, st, err);
}

kz_status kz_comm_receive(kz_comm *comm, kz_array *into, int member, int peer, kz_stream *stream,
	kz_error *err)
{
	error_scope(err);
	struct comm_call *call;
	kz_status st = comm_call_begin(&call, comm, COMM_RECEIVE, err);
	if (!st) {
		call->member = member;
		call->root = peer;
		st = comm_take_message(comm, call, into, stream, err);
	}
	return comm_call_end(comm, call, st, err);
}

/* Whether a call is the receive that a send needs, or the other way round. */
static bool comm_is_match(const struct kz_comm *comm, const struct comm_call *call,
	const struct comm_call *other)
{
	const enum comm_kind wanted = call->kind == COMM_SEND ? COMM_RECEIVE : COMM_SEND;
	return !other->is_matched && other->kind == wanted
		&& other->member + comm->first == call->root
		&& call->member + comm->first == other->root;
}

/* A send gets the end of its receive, which has nothing to do any more. */
static void comm_match(struct comm_call *send, struct comm_call *receive)
{
	struct comm_end *end = &receive->ends[receive->member];
	send->is_matched = receive->is_matched = true;
	send->ends[receive->member] = *end;
	*end = (struct comm_end){0};
}

/* Find the other end of a message within this process. */
static kz_status comm_match_message(struct kz_comm *comm, struct comm_call *call, kz_error *err)
{
	const bool is_send = call->kind == COMM_SEND;
	struct comm_call *other = comm->calls;
	while (other && !comm_is_match(comm, call, other)) {
		other = other->next;
	}
	if (!other) {
		return error_set(err, KZ_INVALID, is_send
			? "member %d sends to member %d, which does not receive from it"
			: "member %d receives from member %d, which does not send to it",
			comm->first + call->member, call->root);
	}
	if (other->count != call->count || other->dtype != call->dtype) {
		struct comm_call *send = is_send ? call : other, *receive = is_send ? other : call;
		return error_set(err, KZ_INVALID, "member %d sends %" PRId64 " elements of %s to "
			"member %d, which receives %" PRId64 " of %s", receive->root, send->count,
			kz_dtype_name(send->dtype), send->root, receive->count,
			kz_dtype_name(receive->dtype));
	}
	comm_match(is_send ? call : other, is_send ? other : call);
	return KZ_OK;
}

kz_status kz_comm_group_end(kz_comm *comm, kz_error *err)
{
	error_scope(err);
	kz_status st = object_check(comm, OBJECT_COMM, err);
	if (st) {
		return st;
	}
	if (!comm->is_group) {
		return error_set(err, KZ_STATE, "no group has begun");
	}
	comm->is_group = false;
	st = comm_check_usable(comm, err);
	for (struct comm_call *call = comm->calls; call && !st; call = call->next) {
		const int peer = call->root - comm->first;
		const bool is_message = call->kind == COMM_SEND || call->kind == COMM_RECEIVE;
		if (is_message && !call->is_matched && peer >= 0 && peer < comm->local_count) {
			st = comm_match_message(comm, call, err);
		}
	}
	st = st || !comm->calls ? st : comm_run(comm, comm->calls, err);
	comm_calls_free(comm);
	return st;
}
