/* SPDX-License-Identifier: MIT */
#ifndef LIB_COMM_COMM_H
#define LIB_COMM_COMM_H

/*
 * Communicators.  A public function checks its arguments and makes a struct comm_call of them; an
 * *engine* puts a list of calls into the streams: NCCL (comm_nccl.c), or our own kernels
 * (comm_own.c).
 */
#include "lib/array/array.h"

#include <kudzu/comm.h>

enum { COMM_MOST = 64 }; /* members in one process */

/* The points at which the streams of a call meet. */
enum comm_mark { COMM_BEFORE, COMM_AFTER, COMM_MARKS };

enum comm_kind {
	COMM_ALL_REDUCE, COMM_REDUCE, COMM_REDUCE_SCATTER, COMM_BROADCAST, COMM_ALL_GATHER,
	COMM_ALL_TO_ALL, COMM_SEND, COMM_RECEIVE
};

/* One array of a call; memory NULL: none. */
struct comm_side {
	struct memory *memory;      /* counted */
	CUdeviceptr address;
};

/* What a call has for a member of this process. */
struct comm_end {
	struct kz_stream *stream;   /* counted; NULL: the member has no part in the call */
	struct comm_side into, from;
};

struct comm_call {
	struct comm_call *next;
	enum comm_kind kind;
	kz_reduce_op op;            /* of reductions, else 0 */
	kz_dtype dtype;
	int64_t count;              /* elements: of a member's part where there are parts */
	int root;                   /* of reduce and broadcast; of send and receive the peer */
	int member;                 /* that sends or receives */
	bool is_matched;            /* with its receive, or its send */
	int hub;                    /* the member at whose stream the others meet */
	struct comm_end ends[];     /* of each member of this process */
};

/* Whether a call is a receive that has become a part of its send. */
static inline bool comm_is_part(const struct comm_call *call)
{
	return call->kind == COMM_RECEIVE && call->is_matched;
}

struct comm_member {
	struct kz_device *device;   /* counted */
	struct kz_stream *stream;   /* that the last call named, counted; NULL: no call yet */
	CUevent marks[COMM_MARKS];  /* where it was last */
	struct ncclComm *nccl;
};

struct kz_comm {
	uint32_t tag;               /* OBJECT_COMM */
	int count;                  /* members in all processes */
	int first;                  /* the number of members[0] */
	int local_count;
	int64_t timeout_ms;         /* negative: for ever */
	const struct nccl *nccl;    /* NULL: our own engine */
	kz_error cause;             /* why it cannot be used any more; KZ_OK: it can */
	int hub;                    /* of our engine's last call; -1: none */
	bool is_late;               /* a wait has ended by its timeout */
	bool is_group;
	struct comm_call *calls, **last_call; /* of the group */
	struct comm_member members[];
};

/* comm.c */

/* The communicator cannot be used any more, because of what happened to a member; returns the
 * status. */
kz_status comm_break(struct kz_comm *comm, int member, kz_error *cause, kz_error *err);
/* Free a call, or all that a group has collected. */
void comm_call_free(struct kz_comm *comm, struct comm_call *call);
void comm_calls_free(struct kz_comm *comm);
/* Fail if it cannot be used any more, or if a device was lost. */
kz_status comm_check_usable(struct kz_comm *comm, kz_error *err);

/* comm_own.c, comm_nccl.c.  The engines: put a list of calls, all checked, into the streams. */
typedef kz_status comm_run_fn(struct kz_comm *comm, struct comm_call *calls, kz_error *err);
comm_run_fn comm_own_run, comm_nccl_run;

/* comm_streams.c: order around the work of a call. */

/* Put "member 1 (cuda:1): " before the message of a failure. */
void comm_name_member(kz_error *err, const struct kz_comm *comm, int member);
/* Choose the hub of a call.  All its streams wait for the last uses of its memory, and join a
 * capture that one of them is part of. */
kz_status comm_begin(struct kz_comm *comm, struct comm_call *call, kz_error *err);
/* Before the work the hub waits for all streams of the call, and after the work they wait for it.
 * Unless the hub works alone, all of them wait for each other.  The hub's context is current. */
kz_status comm_meet(struct kz_comm *comm, const struct comm_call *call, enum comm_mark mark,
	bool is_alone, kz_error *err);
/* After the work. */
kz_status comm_end(struct kz_comm *comm, const struct comm_call *call, kz_error *err);

#endif
