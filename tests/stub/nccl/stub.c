/* SPDX-License-Identifier: MIT */
/* The exported functions.  See stub.h. */
#include "stub/nccl/stub.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* Each of the functions must have the type that Kudzu calls it with. */
#define E(name, value)
#define F(name, symbol, parameters) ncclResult_t symbol parameters;
#include "lib/comm/nccl.def"
#undef F
#undef E

enum { MOST_CALLS = 1024, MOST_RANKS = 64, INVALID_ARGUMENT = 4, INVALID_USAGE = 5 };
enum kind { ALL_REDUCE, REDUCE, REDUCE_SCATTER, BROADCAST, ALL_GATHER, SEND, RECEIVE };

struct ncclComm {
	int rank, count;
	ncclUniqueId id;
};

struct call {
	enum kind kind;
	const void *from;
	void *into;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	int peer; /* or the root */
	ncclComm_t comm;
	CUstream stream;
	bool is_done;
};

struct nccl_stub nccl_stub;
static struct call calls[MOST_CALLS];
static int call_count, depth, last_id;

static ncclResult_t stub_failure(const char *function)
{
	const char *wanted = getenv("NCCL_STUB_FAIL");
	size_t length = strlen(function);
	return wanted && strncmp(wanted, function, length) == 0 && wanted[length] == ':'
		? atoi(wanted + length + 1) : 0;
}

static size_t stub_size(ncclDataType_t type)
{
	static const size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
	return sizes[type];
}

/* Numbers */

static double stub_read(const void *from, size_t i, ncclDataType_t type)
{
	const char *at = (const char *)from + i * stub_size(type);
	unsigned short half;
	switch (type) {
	case ncclInt8:
		return *(const signed char *)at;
	case ncclUint8:
		return *(const unsigned char *)at;
	case ncclInt32:
		return *(const int *)at;
	case ncclUint32:
		return *(const unsigned *)at;
	case ncclInt64:
		return (double)*(const long long *)at;
	case ncclUint64:
		return (double)*(const unsigned long long *)at;
	case ncclFloat16:
		memcpy(&half, at, 2);
		return (half & 0x7c00 ? 1024 + (half & 1023) : 2 * (half & 1023))
			* (half & 0x8000 ? -1.0 : 1.0) / (1 << 25) * (1 << (half >> 10 & 31));
	case ncclFloat32:
		return *(const float *)at;
	case ncclFloat64:
		return *(const double *)at;
	default: { /* ncclBfloat16 */
		unsigned bits;
		float value;
		memcpy(&half, at, 2);
		bits = (unsigned)half << 16;
		memcpy(&value, &bits, 4);
		return value;
	}
	}
}

/* float16 of a number that has one */
static unsigned short stub_half(double value)
{
	unsigned short sign = value < 0 ? 0x8000 : 0;
	value = value < 0 ? -value : value;
	for (unsigned bits = 0; bits < 0x7c00; bits++) {
		unsigned short half = (unsigned short)bits;
		if (stub_read(&half, 0, ncclFloat16) >= value) {
			return sign | half;
		}
	}
	return sign | 0x7c00;
}

static void stub_write(void *into, size_t i, ncclDataType_t type, double value)
{
	char *at = (char *)into + i * stub_size(type);
	switch (type) {
	case ncclInt8:
	case ncclUint8:
		*(unsigned char *)at = (unsigned char)(long long)value;
		break;
	case ncclInt32:
	case ncclUint32:
		*(unsigned *)at = (unsigned)(long long)value;
		break;
	case ncclInt64:
	case ncclUint64:
		*(long long *)at = (long long)value;
		break;
	case ncclFloat16:
		*(unsigned short *)at = stub_half(value);
		break;
	case ncclFloat32:
		*(float *)at = (float)value;
		break;
	case ncclFloat64:
		*(double *)at = value;
		break;
	default: {
		float number = (float)value;
		memcpy(at, (const char *)&number + 2, 2);
	}
	}
}

static double stub_combine(double a, double b, ncclRedOp_t op)
{
	return op == ncclProd ? a * b : op == ncclMax ? (a > b ? a : b)
		: op == ncclMin ? (a < b ? a : b) : a + b;
}

/* `count` elements from `first` on of all operands, to one result. */
static void stub_reduce(void *into, struct call *const *all, int ranks, size_t first)
{
	const struct call *call = all[0];
	for (size_t i = 0; i < call->count; i++) {
		double value = stub_read(all[0]->from, first + i, call->type);
		for (int rank = 1; rank < ranks; rank++) {
			value = stub_combine(value,
				stub_read(all[rank]->from, first + i, call->type), call->op);
		}
		stub_write(into, i, call->type, call->op == ncclAvg ? value / ranks : value);
	}
}

/* Groups */

static void stub_move(void *into, size_t index, const struct call *from)
{
	const size_t size = from->count * stub_size(from->type);
	if (size > 0) {
		memmove((char *)into + index * size, from->from, size);
	}
}

static void stub_put(const struct call *call, const char *results, size_t size)
{
	if (size > 0) {
		memcpy(call->into, results, size);
	}
}

/* What all ranks ask for; results go through a copy, since they may lie in operands. */
static void stub_do(struct call *const *all, int ranks)
{
	const size_t size = all[0]->count * stub_size(all[0]->type);
	char *results = malloc((size_t)ranks * size + 1);
	for (int rank = 0; rank < ranks; rank++) {
		if (all[0]->kind == REDUCE_SCATTER || rank == 0) {
			stub_reduce(results + (size_t)rank * size, all, ranks,
				(size_t)rank * all[0]->count);
		}
	}
	for (int rank = 0; rank < ranks; rank++) {
		struct call *call = all[rank];
		call->is_done = true;
		switch (call->kind) {
		case ALL_REDUCE:
			stub_put(call, results, size);
			break;
		case REDUCE:
			if (rank == call->peer) {
				stub_put(call, results, size);
			}
			break;
		case REDUCE_SCATTER:
			stub_put(call, results + (size_t)rank * size, size);
			break;
		case BROADCAST:
			stub_move(call->into, 0, all[call->peer]);
			break;
		default: /* ALL_GATHER */
			for (int from = 0; from < ranks; from++) {
				stub_move(call->into, (size_t)from, all[from]);
			}
		}
	}
	free(results);
}

static bool stub_is_same(const struct call *a, const struct call *b)
{
	return a->kind == b->kind && a->count == b->count && a->type == b->type && a->op == b->op
		&& a->peer == b->peer;
}

/* The first call of a member that is not done; NULL: none. */
static struct call *stub_next(const ncclUniqueId *id, int rank)
{
	for (int i = 0; i < call_count; i++) {
		if (!calls[i].is_done && calls[i].kind < SEND && calls[i].comm->rank == rank
		    && memcmp(&calls[i].comm->id, id, sizeof(*id)) == 0) {
			return &calls[i];
		}
	}
	return NULL;
}

static bool stub_collect(struct call *call)
{
	struct call *all[MOST_RANKS] = {NULL};
	for (int rank = 0; rank < call->comm->count && rank < MOST_RANKS; rank++) {
		all[rank] = stub_next(&call->comm->id, rank);
		if (!all[rank] || !stub_is_same(all[rank], call)) {
			return false;
		}
	}
	stub_do(all, call->comm->count);
	return true;
}

static bool stub_send(struct call *call)
{
	for (int i = 0; i < call_count; i++) {
		struct call *other = &calls[i];
		if (!other->is_done && other->kind == RECEIVE && other->peer == call->comm->rank
		    && other->comm->rank == call->peer && other->count == call->count
		    && other->type == call->type) {
			stub_move(other->into, 0, call);
			call->is_done = other->is_done = true;
			return true;
		}
	}
	return false;
}

static ncclResult_t stub_finish(void)
{
	ncclResult_t result = 0;
	for (int i = 0; i < call_count; i++) {
		if (nccl_stub.synchronize(calls[i].stream)) {
			result = 1;
		}
	}
	for (int i = 0; i < call_count && !result; i++) {
		if (!calls[i].is_done && calls[i].kind != RECEIVE
		    && !(calls[i].kind == SEND ? stub_send : stub_collect)(&calls[i])) {
			result = INVALID_USAGE;
		}
	}
	for (int i = 0; i < call_count && !result; i++) {
		result = calls[i].is_done ? 0 : INVALID_USAGE;
	}
	nccl_stub.groups += call_count > 0;
	call_count = 0;
	return result;
}

static ncclResult_t stub_add(const char *function, struct call call)
{
	ncclResult_t failure = stub_failure(function);
	if (failure) {
		return failure;
	}
	if (!call.comm || call_count == MOST_CALLS || (unsigned)call.type > ncclBfloat16) {
		return INVALID_ARGUMENT;
	}
	calls[call_count++] = call;
	return depth > 0 ? 0 : stub_finish();
}

ncclResult_t ncclGroupStart(void)
{
	depth++;
	return stub_failure(__func__);
}

ncclResult_t ncclGroupEnd(void)
{
	ncclResult_t failure = stub_failure(__func__);
	depth--;
	if (failure) {
		call_count = 0;
	}
	return failure || depth > 0 ? failure : stub_finish();
}

/* Calls */

ncclResult_t ncclAllReduce(const void *from, void *into, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){ALL_REDUCE, from, into, count, type, op, 0, comm, stream, false});
}

ncclResult_t ncclReduce(const void *from, void *into, size_t count, ncclDataType_t type,
	ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){REDUCE, from, into, count, type, op, root, comm, stream, false});
}

ncclResult_t ncclReduceScatter(const void *from, void *into, size_t count, ncclDataType_t type,
	ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){REDUCE_SCATTER, from, into, count, type, op, 0, comm, stream, false});
}

ncclResult_t ncclBroadcast(const void *from, void *into, size_t count, ncclDataType_t type,
	int root, ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){BROADCAST, from, into, count, type, 0, root, comm, stream, false});
}

ncclResult_t ncclAllGather(const void *from, void *into, size_t count, ncclDataType_t type,
	ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){ALL_GATHER, from, into, count, type, 0, 0, comm, stream, false});
}

ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
	ncclComm_t comm, cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){SEND, from, NULL, count, type, 0, peer, comm, stream, false});
}

ncclResult_t ncclRecv(void *into, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
	cudaStream_t stream)
{
	return stub_add(__func__,
		(struct call){RECEIVE, NULL, into, count, type, 0, peer, comm, stream, false});
}

/* Communicators */

ncclResult_t ncclGetVersion(int *out)
{
	*out = 22809;
	return stub_failure(__func__);
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
	snprintf(out->bytes, sizeof(out->bytes), "%d", ++last_id);
	return stub_failure(__func__);
}

ncclResult_t ncclCommInitRank(ncclComm_t *out, int count, ncclUniqueId id, int rank)
{
	ncclResult_t failure = stub_failure(__func__);
	if (failure || rank < 0 || rank >= count || count > MOST_RANKS) {
		return failure ? failure : INVALID_ARGUMENT;
	}
	*out = malloc(sizeof(**out));
	**out = (struct ncclComm){rank, count, id};
	nccl_stub.comms++;
	return 0;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	free(comm);
	nccl_stub.comms--;
	return 0;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	nccl_stub.aborted++;
	return ncclCommDestroy(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
	const char *wanted = getenv("NCCL_STUB_ASYNC");
	*out = wanted && atoi(wanted) == comm->rank ? atoi(strchr(wanted, ':') + 1) : 0;
	return stub_failure(__func__);
}
