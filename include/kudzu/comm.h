/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_COMM_H
#define KUDZU_COMM_H

/*
 * Communicators: collective operations over the arrays of several devices.
 *
 *	kz_device *devices[4];
 *	kz_array *gradients[4];
 *	kz_comm *comm = NULL;
 *	...
 *	if (kz_comm_create(&comm, devices, 4, NULL, &err)
 *	    || kz_comm_all_reduce(comm, gradients, gradients, KZ_REDUCE_MEAN, NULL, &err)
 *	    || kz_comm_synchronize(comm, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	kz_comm_release(comm);
 *
 * A communicator has members, numbered from 0, each on a device of its own.  A call takes a list of
 * arrays with one entry for each member of this process, in the order of the devices, and does the
 * work of all of them.  The arrays of one call have the same dtype and the same number of elements
 * and have no gaps (kz_array_is_contiguous); shapes do not matter.
 *
 * Who does the work: NCCL on GPUs, where it is installed; else kernels that read and write the
 * memory of the other devices, which need access to it (kz_device_can_access_peer).  Members in
 * several processes need NCCL.
 *
 * The order of a reduction: without NCCL, ((a0 + a1) + a2) + ..., in the order of the members, with
 * float16 and bfloat16 as float32, rounded once at the end.  So the bits are the same in each run,
 * on each device, and for any number of workers.  NCCL's order depends on how the devices are
 * connected, and is the same in each run on one machine.
 *
 * Streams: the work of a member is in its stream.  It begins when all streams of the call have come
 * to it, and later work in each of them waits for all of it.
 *
 * Failures: a device that fails while its work runs leaves the results of the others undefined.
 * kz_comm_synchronize reports that, with the number of the member, and so does the next call; from
 * then on every call of the communicator fails.  Release it, close the device, and create another.
 */
#include <kudzu/array.h>
#include <kudzu/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A communicator; opaque.  One thread at a time uses it. */
typedef struct kz_comm kz_comm;

/** What the processes of one communicator have in common: NCCL's ncclUniqueId.  One process
 * makes it and gives the bytes to the others, by MPI, a file or a socket. */
typedef struct kz_comm_id {
	char bytes[128]; /**< mean something to NCCL only */
} kz_comm_id;

/** Who does the work. */
typedef enum kz_comm_engine {
	KZ_COMM_AUTO = 0, /**< NCCL for GPUs if it is installed, else the library */
	KZ_COMM_NCCL = 1,
	KZ_COMM_OWN = 2   /**< the library's own kernels */
} kz_comm_engine;

/** How to create a communicator.  Initialize with KZ_COMM_OPTIONS_INIT. */
typedef struct kz_comm_options {
	size_t size;            /**< sizeof(kz_comm_options) */
	int32_t engine;         /**< a kz_comm_engine */
	int32_t timeout_ms;     /**< that kz_comm_synchronize waits at most; 0: ten minutes; a
	                             negative number: without end */
	const kz_comm_id *id;   /**< for several processes; NULL: all members are in this one */
	int32_t first;          /**< with an id: the number of this process' first member */
	int32_t count;          /**< with an id: the number of members in all processes */
	void *reserved[4];
} kz_comm_options;

#ifdef __cplusplus
#define KZ_COMM_OPTIONS_INIT kz_sized_init<kz_comm_options>()
#else
#define KZ_COMM_OPTIONS_INIT {.size = sizeof(kz_comm_options)}
#endif

/**
 * Create a communicator.
 *
 * Without NCCL each device gets access to the memory of the others, which stays enabled.
 *
 * @param devices `count` different devices of one driver; 1 to 64.  KUDZU_CPU_DEVICES=4 makes four
 *        CPU devices: cpu, cpu:1, cpu:2 and cpu:3.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for a device that is there twice, for devices of two drivers, and for
 *         members that do not exist; KZ_UNSUPPORTED for devices that cannot use each other's
 *         memory, and for several processes, where NCCL is not installed; KZ_NOT_FOUND if NCCL is
 *         asked for and not installed; NCCL's and the driver's failures.
 * Ownership: release it with kz_comm_release.  It keeps its devices.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_create(kz_comm **out, kz_device *const *devices, int count,
	const kz_comm_options *options, kz_error *err);

/** Release a communicator.  This waits for nothing: work in flight goes on, except for NCCL's after
 * a failure.  NULL is fine. */
KZ_API void kz_comm_release(kz_comm *comm);

/**
 * Make the id of a communicator that several processes will create.
 *
 * @return KZ_OK; KZ_INVALID; KZ_NOT_FOUND if NCCL is not installed; NCCL's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_id_create(kz_comm_id *out, kz_error *err);

/** Return the number of members in all processes; 0 for NULL. */
KZ_API int kz_comm_count(const kz_comm *comm);

/** Return the number of members in this process; 0 for NULL. */
KZ_API int kz_comm_local_count(const kz_comm *comm);

/** Return the number of this process' first member; 0 for NULL. */
KZ_API int kz_comm_first(const kz_comm *comm);

/** Return 1 if NCCL does the work; else 0. */
KZ_API int kz_comm_uses_nccl(const kz_comm *comm);

/**
 * Reduce the arrays of all members, element by element, and give each member the result; MPI's
 * Allreduce.
 *
 * @param into the results, of the operands' dtype and count.  An entry may be the same array as
 *        that of `from`; otherwise the two have no byte in common.
 * @param from the operands.
 * @param op KZ_REDUCE_SUM, KZ_REDUCE_PROD, KZ_REDUCE_MIN, KZ_REDUCE_MAX or KZ_REDUCE_MEAN.
 *        Integers wrap, and have no mean.  bool has MIN (all) and MAX (any), complex numbers have
 *        neither.  The mean is the sum divided by the number of members.
 * @param streams one for each member of this process; NULL, and an entry NULL: the default stream.
 * @return KZ_OK; KZ_INVALID for arrays that do not match, with the number of the member;
 *         KZ_UNSUPPORTED for a dtype that the operation, or NCCL, does not have; the failure of a
 *         member before this call, whose number the message names; KZ_STATE for streams that are
 *         captured into two graphs; the driver's failures.
 * Async: returns at once.  A stream that is being captured takes the others into the capture.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_all_reduce(kz_comm *comm, kz_array *const *into,
	kz_array *const *from, kz_reduce_op op, kz_stream *const *streams, kz_error *err);

/**
 * Reduce the arrays of all members, and give one member the result; MPI's Reduce.
 *
 * @param into the result on member `root`; NULL if that one is in another process.
 * @param root the number of a member.
 * Otherwise as kz_comm_all_reduce.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_reduce(kz_comm *comm, kz_array *into, kz_array *const *from,
	kz_reduce_op op, int root, kz_stream *const *streams, kz_error *err);

/**
 * Reduce the arrays of all members, and give each member a part of the result; MPI's
 * Reduce_scatter_block.
 *
 * @param into parts of n elements: member r gets elements r * n to (r + 1) * n - 1 of the result.
 *        Such a part of its own operand may be the result's place.
 * @param from operands of kz_comm_count(comm) * n elements.
 * Otherwise as kz_comm_all_reduce.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_reduce_scatter(kz_comm *comm, kz_array *const *into,
	kz_array *const *from, kz_reduce_op op, kz_stream *const *streams, kz_error *err);

/**
 * Copy the array of one member to all others; MPI's Bcast.
 *
 * @param arrays that of `root` is read, the others are written.  Any dtype.
 * @param root the number of a member.
 * Otherwise as kz_comm_all_reduce.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_broadcast(kz_comm *comm, kz_array *const *arrays, int root,
	kz_stream *const *streams, kz_error *err);

/**
 * Give each member the arrays of all members, one after the other; MPI's Allgather.
 *
 * @param into arrays of kz_comm_count(comm) * n elements: elements r * n to (r + 1) * n - 1 come
 *        from member r.  Any dtype.
 * @param from arrays of n elements.  That of member r may be its part of its own result.
 * Otherwise as kz_comm_all_reduce.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_all_gather(kz_comm *comm, kz_array *const *into,
	kz_array *const *from, kz_stream *const *streams, kz_error *err);

/**
 * Send a part of each member's array to each member; MPI's Alltoall.
 *
 * @param into arrays of kz_comm_count(comm) * n elements: part q of member r's is part r of member
 *        q's operand.  It has no byte in common with the operand.  Any dtype.
 * @param from arrays of as many elements.
 * Otherwise as kz_comm_all_reduce.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_all_to_all(kz_comm *comm, kz_array *const *into,
	kz_array *const *from, kz_stream *const *streams, kz_error *err);

/**
 * Begin a group: the calls until kz_comm_group_end are collected, and their work is started at
 * once.
 *
 * @return KZ_OK; KZ_INVALID; KZ_STATE in a group.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_group_begin(kz_comm *comm, kz_error *err);

/**
 * End a group, and start what was collected.
 *
 * The group has ended on failure, too.  The calls of a group must not depend on each other.
 *
 * @return KZ_OK; KZ_STATE outside of a group; KZ_INVALID for a kz_comm_send without a matching
 *         kz_comm_receive, and the other way round, as far as both members are in this process; as
 *         the calls that were collected.
 * Async: returns at once.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_group_end(kz_comm *comm, kz_error *err);

/**
 * Send an array from one member to another, in a group.
 *
 * The n-th send from one member to another belongs to the n-th kz_comm_receive for these two in the
 * same group.
 *
 * @param from an array of member `member`, which is in this process.  Any dtype.
 * @param peer the number of the member that receives, not `member` itself.
 * @param stream NULL for the default stream of the member's device.
 * @return as kz_comm_all_reduce; KZ_STATE outside of a group.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_send(kz_comm *comm, kz_array *from, int member, int peer,
	kz_stream *stream, kz_error *err);

/** Receive in an array of `member` what `peer` sends; as kz_comm_send. */
KZ_API KZ_NODISCARD kz_status kz_comm_receive(kz_comm *comm, kz_array *into, int member, int peer,
	kz_stream *stream, kz_error *err);

/**
 * Wait until the streams that the last calls named for the members have done their work, at most as
 * long as the options' timeout.
 *
 * @return KZ_OK; the failure of a member, whose number the message names; KZ_TIMEOUT, with the
 *         number of the member that the others wait for; KZ_STATE in a group and for a stream that
 *         is being captured.
 */
KZ_API KZ_NODISCARD kz_status kz_comm_synchronize(kz_comm *comm, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
