/* SPDX-License-Identifier: MIT */
#ifndef NCCL_STUB_H
#define NCCL_STUB_H

/*
 * libnccl-stub.so: NCCL for tests, which computes on the memory of CPU devices by the definition,
 * for members in one process.
 *
 * Calls are collected until the last ncclGroupEnd, which waits for their streams, compares what the
 * members of a communicator ask for, and does it.  A call that some member lacks, or that differs,
 * is ncclInvalidUsage; NCCL would hang.
 *
 * NCCL_STUB_FAIL="ncclReduce:6" makes the function of that name return the code, and
 * NCCL_STUB_ASYNC="2:6" ncclCommGetAsyncError for member 2 report it.
 */
#include "lib/comm/comm_nccl.h"

/* The exported symbol nccl_stub. */
struct nccl_stub {
	/* What the test sets: cuStreamSynchronize of the devices' driver. */
	CUresult (*synchronize)(CUstream stream);
	int comms;      /* that there are */
	int aborted;    /* that were ended by ncclCommAbort */
	int groups;     /* that did some work */
};

#endif
