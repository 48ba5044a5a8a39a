/* SPDX-License-Identifier: MIT */
#ifndef CPU_CAPTURED_H
#define CPU_CAPTURED_H

#include "base/common.h"
#include "drv/cuda_abi.h"

/* The nodes that the next one of a stream will depend on. */
struct tail {
	CUgraphNode *nodes;
	CUgraphEdgeData *data;
	size_t count;
	size_t room;
};

/* Make room for so many in all; false when memory runs out. */
bool tail_reserve(struct tail *tail, size_t room);
/* Add what is not there yet; without data, edges are plain. */
bool tail_add(struct tail *tail, const CUgraphNode *nodes, const CUgraphEdgeData *data,
	size_t count);
/* Whether an edge has data. */
bool tail_is_lossy(const struct tail *tail);
void tail_free(struct tail *tail); /* afterwards it is empty */

#endif
