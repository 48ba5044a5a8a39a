/* SPDX-License-Identifier: MIT */
/* Operations of mbarrier; see rt_mbarrier.h. */
#include "base/common.h"

#include "cpu/runtime/rt_mbarrier.h"

#include <string.h>

#define TX_SHIFT 40
#define TX_BITS 22
#define TX_MASK ((UINT64_C(1) << TX_BITS) - 1)
#define PARITY_SHIFT 63

/* The fields of a barrier. */
struct barrier {
	uint64_t expected;
	uint64_t pending;
	uint64_t bytes;    /* modulo 1 << TX_BITS */
	uint64_t parity;
};

static struct barrier mbarrier_unpack(uint64_t bits)
{
	return (struct barrier){bits & MBARRIER_COUNT_MASK,
		bits >> MBARRIER_PENDING_SHIFT & MBARRIER_COUNT_MASK, bits >> TX_SHIFT & TX_MASK,
		bits >> PARITY_SHIFT};
}

static uint64_t mbarrier_pack(const struct barrier *b)
{
	return (b->expected & MBARRIER_COUNT_MASK)
		| (b->pending & MBARRIER_COUNT_MASK) << MBARRIER_PENDING_SHIFT
		| (b->bytes & TX_MASK) << TX_SHIFT | b->parity << PARITY_SHIFT;
}

static void mbarrier_arrive(struct barrier *b, uint64_t count)
{
	b->pending -= count < b->pending ? count : b->pending;
}

static void mbarrier_drop(struct barrier *b, uint64_t count)
{
	b->expected -= count < b->expected ? count : b->expected;
	mbarrier_arrive(b, count);
}

static void mbarrier_update(struct barrier *b, enum mbarrier_op op, uint64_t argument)
{
	switch (op) {
	case MBARRIER_EXPECT:
		b->bytes += argument;
		break;
	case MBARRIER_COMPLETE:
		b->bytes -= argument;
		break;
	case MBARRIER_ARRIVE:
		mbarrier_arrive(b, argument);
		break;
	case MBARRIER_ARRIVE_TX:
		b->bytes += argument;
		mbarrier_arrive(b, 1);
		break;
	case MBARRIER_DROP:
		mbarrier_drop(b, argument);
		break;
	case MBARRIER_DROP_TX:
		b->bytes += argument;
		mbarrier_drop(b, 1);
		break;
	default:
		break;
	}
	if (b->pending == 0 && (b->bytes & TX_MASK) == 0) {
		b->pending = b->expected;
		b->parity ^= 1;
	}
}

/* Tell the checks. */
static void mbarrier_tell(struct rt_warp *warp, uint32_t lane, enum mbarrier_op op,
	const uint64_t *place, const struct barrier *before, uint64_t argument)
{
	const struct barrier after = mbarrier_unpack(*place);
	const struct rt_arrival arrival = {.at = (uintptr_t)place, .pending = before->pending,
		.count = op == MBARRIER_ARRIVE || op == MBARRIER_DROP ? argument
		: op == MBARRIER_ARRIVE_TX || op == MBARRIER_DROP_TX ? 1 : 0,
		.ends = after.parity != before->parity};
	if (warp->launch->host->arrive) {
		warp->launch->host->arrive(warp, lane, &arrival);
	}
}

uint64_t mbarrier_do(struct rt_warp *warp, uint32_t op, uint32_t lane, uint64_t *place,
	uint64_t argument)
{
	uint64_t old;
	memcpy(&old, place, sizeof(old));
	if (op == MBARRIER_TEST) {
		return (old ^ argument) >> PARITY_SHIFT;
	}
	if (op == MBARRIER_TEST_PARITY) {
		return old >> PARITY_SHIFT ^ (argument & 1);
	}
	struct barrier b = mbarrier_unpack(old);
	const struct barrier before = b;
	if (op == MBARRIER_INIT) {
		b = (struct barrier){.expected = argument, .pending = argument};
	} else {
		mbarrier_update(&b, (enum mbarrier_op)op, argument);
	}
	uint64_t bits = mbarrier_pack(&b);
	memcpy(place, &bits, sizeof(bits));
	if (unlikely(warp->race) && op != MBARRIER_INIT) {
		mbarrier_tell(warp, lane, (enum mbarrier_op)op, place, &before, argument);
	}
	return old;
}
