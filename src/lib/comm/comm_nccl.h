/* SPDX-License-Identifier: MIT */
#ifndef LIB_COMM_COMM_NCCL_H
#define LIB_COMM_COMM_NCCL_H

/*
 * NCCL, found at run time as lib/rtc/find.h says: by KUDZU_NCCL, else in toolkits, NVIDIA's wheels,
 * by the loader.  `none` turns it off.
 */
#include "lib/comm/comm.h"

typedef struct ncclComm *ncclComm_t;
typedef kz_comm_id ncclUniqueId;
typedef CUstream cudaStream_t;
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;

enum nccl_constant {
#define F(name, symbol, parameters)
#define E(name, value) name = value,
#include "lib/comm/nccl.def"
#undef E
#undef F
};

struct nccl {
#define E(name, value)
#define F(name, symbol, parameters) ncclResult_t (*name) parameters;
#include "lib/comm/nccl.def"
#undef F
#undef E
};

/* Take NCCL for a communicator whose members are there, if the options and the devices want it and
 * it is installed: comm->nccl says so. */
kz_status comm_nccl_start(struct kz_comm *comm, const kz_comm_options *options, kz_error *err);
/* End what it made.  After a failure what is under way ends, too. */
void comm_nccl_end(struct kz_comm *comm);
/* Ask NCCL whether the work of a member has failed, and of which one. */
kz_status comm_nccl_check(int *member, struct kz_comm *comm, kz_error *err);

#endif
