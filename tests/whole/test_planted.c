/* SPDX-License-Identifier: MIT */
/*
 * The checks on the kernels of tests/data/checks, which have one bug each.  A check finds it, names
 * only lines that end in a comment with the kernel's name, and says what the words of the row say.
 * It says nothing about the mended kernels, nor about those that only look as if they had a bug.
 *
 * The files of tests/data/checks/kernels are larger kernels, one each, as people write them.  The
 * lines where a check may find the bug end in "// BUG".  A comment has the words of `kudzu run`.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "cli/argument.h"
#include "support/suite.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/data/checks"
#define ONE_BLOCK {1, 64, 1}

/* What the kernels of a file get. */
static const struct planted_check {
	const char *name, *setting; /* of KUDZU_CHECK */
	int count;                  /* of the elements of `out` */
	int written;                /* of the 64 elements of `in` */
	size_t args;                /* of out, in, 1 */
	kz_status status;           /* after a bug, unless that is a deadlock */
	int most;                   /* reports of a bug */
} checks[] = {
	{"memory", "memory,init", 64, 64, 3, KZ_FAULT, 1},
	{"init", "memory,init", 64, 32, 3, KZ_OK, 1},
	{"race", "race", 4096, 64, 1, KZ_OK, 2}, // from each line to the other
	{"sync", "sync", 4096, 64, 1, KZ_OK, 2},
	{"nan", "nan", 4096, 64, 3, KZ_OK, 1},
	{"int", "int", 4096, 64, 3, KZ_OK, 1},
	{"coalesce", "coalesce", 4096, 64, 3, KZ_OK, 1},
	{"bank", "bank", 4096, 64, 3, KZ_OK, 1},
};

/* What `in` is before the bug is mended. */
enum planted_in { IN_ARRAY, IN_FREED, IN_HOST, IN_NULL };

static const struct planted {
	const char *check, *kernel;
	struct {
		int blocks, width, height;
	} launch;
	const char *words;     /* of the report, with '|' between them; NULL: there is not one */
	int thread;            /* that the report names; -1: one of several */
	enum planted_in in;
} planted[] = {
	{"memory", "read_after", ONE_BLOCK,
		"read of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 63},
	{"memory", "read_before", ONE_BLOCK,
		"read of 4 bytes at address 0x|4 bytes before the 256-byte", 0},
	{"memory", "write_after", ONE_BLOCK,
		"write of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 63},
	{"memory", "write_before", ONE_BLOCK,
		"write of 4 bytes at address 0x|4 bytes before the 256-byte", 0},
	{"memory", "read_vector", ONE_BLOCK,
		"read of 16 bytes at address 0x|0 bytes past the end of the 256-byte", 16},
	{"memory", "misaligned", ONE_BLOCK,
		"read of 4 bytes at address 0x|which is not a multiple of 4", 0},
	{"memory", "shared_after", ONE_BLOCK,
		"read of 4 bytes at offset 256 of the shared variable 'a'|has 256 bytes", 63},
	{"memory", "shared_before", ONE_BLOCK,
		"write of 4 bytes at offset -4 of the shared variable 'b'", 0},
	{"memory", "dynamic_after", ONE_BLOCK,
		"write of 4 bytes at offset 256 of the dynamic shared memory 'd'", 63},
	{"memory", "local_after", ONE_BLOCK,
		"write of 4 bytes at offset 64 of the thread's local memory", 0},
	{"memory", "constant_after", ONE_BLOCK,
		"read of 4 bytes at offset 64 of the constant variable 'table'", 16},
	{"memory", "variable_after", ONE_BLOCK,
		"write of 4 bytes at offset 32 of the variable 'counters'", 8},
	{"memory", "atomic_after", ONE_BLOCK,
		"atomic operation on 4 bytes at address 0x|0 bytes past the end", 63},
	{"memory", "shared_atomic", ONE_BLOCK,
		"atomic operation on 4 bytes at offset 128 of the shared variable 'h'", 32},
	{"memory", "freed", ONE_BLOCK,
		"read of 4 bytes at address 0x|the 256-byte allocation at|"
		"which was freed", 0, IN_FREED},
	{"memory", "host", ONE_BLOCK,
		"read of 4 bytes at address 0x|which is in no allocation", 0, IN_HOST},
	{"memory", "null", ONE_BLOCK,
		"read of 4 bytes at address 0x0, which is in no allocation", 0, IN_NULL},
	{"memory", "loop", ONE_BLOCK,
		"read of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 0},
	{"memory", "inlined", ONE_BLOCK,
		"read of 4 bytes at address 0x|note: in the call of 'load' from here", 63},
	{"memory", "async", ONE_BLOCK, "offset 256 of the shared variable 'a'", 63},
	{"memory", "divergent", ONE_BLOCK,
		"write of 4 bytes at address 0x|4 bytes past the end of the 256-byte", 3},
	{"memory", "member", ONE_BLOCK,
		"read of 4 bytes at address 0x|4 bytes past the end of the 256-byte", 62},
	{"memory", "member_function", ONE_BLOCK, "0 bytes past the end of the 256-byte|"
		"note: in the call of 'ns::view<const int>::operator[]' from here", 63},
	{"memory", "namespace_after", ONE_BLOCK,
		"write of 4 bytes at offset 256 of the shared variable 'ns::tile'", 63},
	{"memory", "heap_after", ONE_BLOCK, "write of 4 bytes at address 0x|"
		"0 bytes past the end of the 20 bytes that malloc has returned at", -1},
	{"memory", "heap_freed", ONE_BLOCK, "read of 4 bytes at address 0x|"
		"in memory of the heap that is not allocated, or that was freed", -1},
	{"memory", "heap_freed_twice", ONE_BLOCK,
		"free of 0x|which malloc did not return, or which was freed before", -1},
	{"memory", "ldmatrix_after", ONE_BLOCK,
		"read of 16 bytes at offset 512 of the shared variable 'a', which has 512", 31},
	{"memory", "stmatrix_before", ONE_BLOCK,
		"write of 16 bytes at offset -16 of the shared variable 'a'", 0},
	{"memory", "wmma_after", ONE_BLOCK, "read of 16 bytes at address 0x|"
		"0 bytes past the end of the 256-byte", 4},
	{"memory", "copy_tail", ONE_BLOCK,
		"read of 4 bytes at address 0x|0 bytes past the end of the 256-byte", 32},
	{"memory", "bulk_after", ONE_BLOCK,
		"read of 256 bytes at address 0x|0 bytes past the end of the 256-byte", 0},
	{"memory", "bulk_too_long", ONE_BLOCK,
		"read of 256 bytes at offset 0 of the shared variable 'a', which has 240", 0},
	{"memory", "mbarrier_after", ONE_BLOCK,
		"write of 8 bytes at offset 16 of the shared variable 'done'", 0},
	{"memory", "good_matrix", ONE_BLOCK, NULL},
	{"memory", "good_shared", ONE_BLOCK, NULL},
	{"memory", "good_local", ONE_BLOCK, NULL},
	{"memory", "good_atomics", ONE_BLOCK, NULL},
	{"memory", "good_dynamic", ONE_BLOCK, NULL},
	{"memory", "good_last", ONE_BLOCK, NULL},
	{"memory", "good_bounds", ONE_BLOCK, NULL},
	{"init", "init_add", ONE_BLOCK,
		"use of 4 bytes at address 0x|before anything was written there", 32},
	{"init", "init_branch", ONE_BLOCK,
		"use of 4 bytes at address 0x|inside the 256-byte allocation", 32},
	{"init", "init_address", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_float", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_shared", ONE_BLOCK,
		"use of 4 bytes at offset |of the shared variable 'a'", 0},
	{"init", "init_tail", ONE_BLOCK,
		"use of 4 bytes at offset 256 of the shared variable 'a'", 63},
	{"init", "init_local", ONE_BLOCK,
		"use of 4 bytes at offset 52 of the thread's local memory", 0},
	{"init", "init_loop", ONE_BLOCK, "use of 4 bytes at address 0x", 0},
	{"init", "init_atomic", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_histogram", ONE_BLOCK,
		"use of 4 bytes at offset 0 of the shared variable 'h'", 0},
	{"init", "init_byte", ONE_BLOCK, "use of 1 byte at address 0x", 32},
	{"init", "init_short", ONE_BLOCK, "use of 2 bytes at address 0x", 32},
	{"init", "init_long", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_double", ONE_BLOCK, "use of 8 bytes at address 0x", 32},
	{"init", "init_vector", ONE_BLOCK, "use of 16 bytes at address 0x", 32},
	{"init", "init_copied", ONE_BLOCK,
		"use of 4 bytes at offset |of the shared variable 'a'", 0},
	{"init", "init_inlined", ONE_BLOCK,
		"use of 4 bytes at address 0x|note: in the call of 'load' from here", 32},
	{"init", "init_divergent", ONE_BLOCK, "use of 4 bytes at address 0x", 33},
	{"init", "init_shuffle", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_dynamic", ONE_BLOCK,
		"use of 4 bytes at offset 128 of the shared variable 'd'", 32},
	{"init", "ns::init_scale<int, 3>", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_last", ONE_BLOCK, "use of 4 bytes at address 0x", 63},
	{"init", "init_fixed_branch", ONE_BLOCK, "use of 4 bytes at offset 0 of the shared", -1},
	{"init", "init_fixed_result", ONE_BLOCK, "use of 4 bytes at offset 12 of the shared", -1},
	{"init", "init_fixed_bits", ONE_BLOCK, "use of 4 bytes at offset 12 of the shared", -1},
	{"init", "init_fixed_vector", ONE_BLOCK, "use of 16 bytes at offset 0 of the shared", -1},
	{"init", "init_counter", ONE_BLOCK,
		"use of 4 bytes at offset 0 of the shared variable 'count'", 0},
	{"init", "init_exchange", ONE_BLOCK, "use of 4 bytes at address 0x", 32},
	{"init", "init_heap", ONE_BLOCK, "use of 4 bytes at address 0x|"
		"inside the 8 bytes that malloc has returned at", -1},
	{"init", "good_exchange", ONE_BLOCK, NULL},
	{"init", "good_copy", ONE_BLOCK, NULL},
	{"init", "good_bytes", ONE_BLOCK, NULL},
	{"init", "good_rotated", ONE_BLOCK, NULL},
	{"init", "good_padding", ONE_BLOCK, NULL},
	{"init", "good_halves", ONE_BLOCK, NULL},
	{"init", "good_flag", ONE_BLOCK, NULL},
	{"init", "good_vector", ONE_BLOCK, NULL},
	{"init", "good_select", ONE_BLOCK, NULL},
	{"init", "good_shuffle", ONE_BLOCK, NULL},
	{"init", "good_guarded", ONE_BLOCK, NULL},
	{"init", "good_fixed", ONE_BLOCK, NULL},
	{"race", "missing_barrier", ONE_BLOCK,
		"by another thread of its block: byte |of shared memory, byte |of 's'", -1},
	{"race", "missing_syncwarp", {1, 32, 1},
		"by another thread of its warp: byte |of shared memory", -1},
	{"race", "tree", {1, 128, 1}, "by another thread of its |of shared memory", -1},
	{"race", "tile_reused", ONE_BLOCK,
		"by another thread of its block: byte |of shared memory", -1},
	{"race", "lost_update", {4, 1, 1},
		"by another block: byte 0 of the 16384-byte allocation", -1},
	{"race", "block_reads_block", {8, 64, 1},
		"by another block: byte |of the 16384-byte allocation", -1},
	{"race", "shared_histogram", {2, 64, 1}, "by another thread of its |of shared memory", -1},
	{"race", "block_atomic", {3, 32, 1},
		"this atomic operation and an atomic operation by another block, "
		"beyond its scope", -1},
	{"race", "no_fence", {20, 64, 1},
		"this read and a write by another block|note: the write is here", -1},
	{"race", "block_fence", {20, 64, 1},
		"this read and a write by another block|note: the write is here", -1},
	{"race", "plain_flag", ONE_BLOCK,
		"by another thread of its block: byte 0 of shared memory", -1},
	{"race", "late_zero", ONE_BLOCK,
		"atomic operation|write|by another thread of its |: byte 0 of shared memory", -1},
	{"race", "early_result", ONE_BLOCK,
		"atomic operation|read|by another thread of its |: byte 0 of shared memory", -1},
	{"race", "store_and_atomic", {1, 32, 1},
		"atomic operation|write|"
		"by another thread of its warp: byte 0 of the 16384-byte", -1},
	{"race", "half_barrier", {1, 128, 1},
		"by another thread of its block: byte |of shared memory", -1},
	{"race", "transpose", {1, 16, 16}, "by another thread of its |of shared memory", -1},
	{"race", "bytes", {2, 32, 1}, "nothing orders this |by another block: byte ", -1},
	{"race", "good_bytes", {2, 32, 1}, NULL},
	{"race", "scan_in_place", ONE_BLOCK, "by another thread of its |of shared memory", -1},
	{"race", "stencil_in_place", {4, 64, 1},
		"nothing orders this |of the 16384-byte allocation", -1},
	{"race", "one_too_many", {4, 64, 1}, "this write and a write by another block: byte ", -1},
	{"race", "turned_barrier", ONE_BLOCK, "by another thread of its |of shared memory", -1},
	{"race", "careless_lock", {4, 64, 1},
		"by another block: byte 4 of the 16384-byte allocation", -1},
	{"race", "higher_word_first", ONE_BLOCK,
		"by another thread of its block: byte 0 of shared memory", -1},
	{"race", "good_heap", ONE_BLOCK, NULL},
	{"race", "read_by_all", {4, 64, 1},
		"nothing orders this |: byte |of the 16384-byte allocation at 0x"
		"|, element [|] of an array (4096) of int32", -1},
	{"race", "good_in_place", {4, 64, 1}, NULL},
	{"race", "good_in_place", {4, 50, 1}, NULL},
	{"race", "good_flags", {1, 128, 1}, NULL},
	{"race", "neighbour_bytes", ONE_BLOCK, "by another thread of its |of shared memory", -1},
	{"race", "word_and_halves", ONE_BLOCK,
		"this write and a read by another thread of its warp|of shared memory", -1},
	{"race", "good_short_block", {1, 16, 1}, NULL},
	{"race", "good_short_block", {1, 8, 1}, NULL},
	{"race", "bytes_of_all", {2, 64, 1}, "this write and a write by another block: byte ", -1},
	{"race", "good_last_block", {6, 64, 1}, NULL},
	{"race", "good_grid_barrier", {4, 16, 1}, NULL},
	{"race", "read_too_late", {6, 64, 1},
		"nothing orders this |by another block: byte |of the 16384-byte allocation", -1},
	{"race", "good_last_warp", {1, 128, 1}, NULL},
	{"race", "warp_too_late", {1, 128, 1},
		"by another thread of its block: byte |of shared memory", -1},
	{"race", "arrival_is_no_wait", ONE_BLOCK,
		"by another thread of its block: byte |of shared memory", -1},
	{"sync", "early_return", ONE_BLOCK,
		"14 of the 64 threads of the block never come to this barrier|"
		"(50,0,0) has exited", 0},
	{"sync", "early_return_of_two", ONE_BLOCK,
		"of the 64 threads of the block never come to this barrier|(7,0,0) has exited", -1},
	{"sync", "barrier_in_branch", ONE_BLOCK,
		"32 of the 64 threads of the block never come to this barrier|"
		"(32,0,0) has exited", 0},
	{"sync", "two_barriers", ONE_BLOCK,
		"the threads of the block come to different barriers|"
		"note: other threads wait at", 32},
	{"sync", "barrier_in_loop", ONE_BLOCK,
		"32 of the 64 threads of the block never come to this barrier|"
		"(0,0,0) has exited", 32},
	{"sync", "break_before_barrier", ONE_BLOCK,
		"32 of the 64 threads of the block never come to this barrier|(0,0,0) has", 1},
	{"sync", "barriers_in_switch", ONE_BLOCK,
		"the threads of the block come to different barriers|note: other threads wait", 32},
	{"sync", "shuffle_without_self", {1, 32, 1},
		"the mask 0x1 does not name lane 1, which uses it", 1},
	{"sync", "ballot_without_self", {1, 32, 1},
		"the mask 0xfff0fff0 does not name lane 0, which uses it", 0},
	{"sync", "vote_without_self", {1, 32, 1},
		"deadlock: waits at a warp-wide operation for threads that never come", -1},
	{"sync", "syncwarp_without_self", {1, 32, 1},
		"the mask 0xffff does not name lane 16, which uses it", 16},
	{"sync", "missing_source", {1, 32, 1},
		"lane 0 reads the value of lane 16, which does not take part: the mask is 0xffff",
		0},
	{"sync", "down_from_missing", {1, 32, 1},
		"lane 16 reads the value of lane 24, which does not take part: the mask is 0xfff",
		16},
	{"sync", "shuffle_in_branch", {1, 32, 1},
		"deadlock: waits at a |for threads that never come", -1},
	{"sync", "vote_in_branch", {1, 32, 1},
		"deadlock: waits at a |for threads that never come", -1},
	{"sync", "too_many_expected", ONE_BLOCK,
		"deadlock: waits at a barrier for threads that never come", -1},
	{"sync", "flag_that_nobody_sets", ONE_BLOCK,
		"deadlock: waits in a loop for a change that no thread of the launch can make", 0},
	{"sync", "too_few_arrivals", {1, 32, 1},
		"deadlock: waits in a loop for a change that no thread of the launch can make", -1},
	{"sync", "copy_not_waited_for", {1, 32, 1},
		"the asynchronous copy to these bytes has not been waited for", 0},
	{"sync", "last_copy_not_waited_for", {1, 32, 1},
		"the asynchronous copy to these bytes has not been waited for", 0},
	{"sync", "barrier_is_no_wait", ONE_BLOCK,
		"the asynchronous copy to these bytes has not been waited for", 0},
	{"sync", "good_waits", {1, 32, 1}, NULL},
	{"sync", "mbarrier_not_made", {1, 32, 1},
		"the mbarrier at byte 0 of shared memory is used before it is initialized", 0},
	{"sync", "mbarrier_made_twice", {1, 32, 1}, "the mbarrier at byte 0 of shared memory is "
		"initialized twice, without mbarrier.inval in between", 0},
	{"sync", "mbarrier_ended", {1, 32, 1},
		"the mbarrier at byte 0 of shared memory is used after mbarrier.inval|"
		"note: mbarrier.inval is here", 0},
	{"sync", "mbarrier_too_many", {1, 32, 1}, "too many arrivals at the mbarrier at byte 0 of "
		"shared memory: a phase has ended, and this thread has not waited for that|"
		"note: the phase has ended here", 16},
	{"sync", "mbarrier_arrives_for_two", {1, 32, 1}, "too many arrivals at the mbarrier at "
		"byte 0 of shared memory: 2 where 1 are left in the phase", 31},
	{"sync", "mbarrier_ended_early", {1, 32, 1}, "the mbarrier at byte 0 of shared memory is "
		"invalidated, and nothing orders that after its last use|"
		"note: another thread uses it here", 0},
	{"sync", "good_pipeline", ONE_BLOCK, NULL},
	{"sync", "in_step", ONE_BLOCK,
		"threads of a warp do not run in step: __syncwarp() has to order this", -1},
	{"nan", "nan_divide", ONE_BLOCK, "this division makes NaN out of 0 and 0 [nan]", 0},
	{"nan", "nan_sqrt", ONE_BLOCK, "this square root makes NaN out of -1 [nan]", 0},
	{"nan", "nan_log", ONE_BLOCK, "this operation makes -infinity out of 0 [nan]", 0},
	{"nan", "nan_exp", ONE_BLOCK, "makes infinity out of", 0},
	{"nan", "nan_double", ONE_BLOCK,
		"this multiplication makes infinity out of 1e+200 and 1e+200", 0},
	{"nan", "nan_convert", ONE_BLOCK,
		"this conversion makes infinity out of 1e+300", 0},
	{"nan", "nan_half", ONE_BLOCK,
		"this addition makes infinity out of 60000 and 60000", 0},
	{"nan", "nan_sum", ONE_BLOCK, "makes infinity out of ", -1},
	{"nan", "nan_inlined", ONE_BLOCK,
		"makes infinity out of |note: in the call of 'inverse' from here", 0},
	{"nan", "nan_divergent", ONE_BLOCK,
		"this division makes infinity out of 33 and 0", 33},
	{"nan", "nan_shuffled", ONE_BLOCK,
		"this reciprocal square root makes infinity out of 0", 0},
	{"nan", "nan_shared", ONE_BLOCK, "this division makes infinity out of 63 and 0", 63},
	{"nan", "nan_log_of_negative", ONE_BLOCK, "makes NaN out of -1", 0},
	{"nan", "nan_power", ONE_BLOCK, "this operation makes NaN [nan]", 0},
	{"nan", "nan_remainder", ONE_BLOCK, "this operation makes NaN [nan]", 0},
	{"nan", "good_input", ONE_BLOCK, NULL},
	{"nan", "good_infinite_input", ONE_BLOCK, NULL},
	{"nan", "good_minimum", ONE_BLOCK, NULL},
	{"nan", "good_selected", ONE_BLOCK, NULL},
	{"nan", "good_branch", ONE_BLOCK, NULL},
	{"nan", "good_functions", ONE_BLOCK, NULL},
	{"nan", "good_maximum", ONE_BLOCK, NULL},
	{"nan", "good_no_hit", ONE_BLOCK, NULL},
	{"nan", "good_compared", ONE_BLOCK, NULL},
	{"int", "int_index", ONE_BLOCK, "50000 * 50000 does not fit in 32 bits with a sign [int]",
		0},
	{"int", "int_sum", ONE_BLOCK, "63 + 2147483585 does not fit in 32 bits with a sign", 63},
	{"int", "int_difference", ONE_BLOCK, "-2147483648 - 1 does not fit in 32 bits", 0},
	{"int", "int_negation", ONE_BLOCK,
		"this negation of -2147483648 does not fit in 32 bits with a sign", 0},
	{"int", "int_absolute", ONE_BLOCK,
		"of -2147483648 does not fit in 32 bits with a sign", 0},
	{"int", "int_long", ONE_BLOCK,
		"1099511627776 * 1099511627776 does not fit in 64 bits with a sign", 0},
	{"int", "int_shift", ONE_BLOCK, "this shift of a number of 32 bits is by 32", 32},
	{"int", "int_shift_of_long", ONE_BLOCK, "this shift of a number of 64 bits is by 64", 63},
	{"int", "int_product", ONE_BLOCK, "600000000 << 2 does not fit in 32 bits with a sign", 0},
	{"int", "int_bit_test", ONE_BLOCK,
		"this shift of a number of 32 bits is by 4294967295", 0},
	{"int", "int_division", ONE_BLOCK, "this division of 0 by 0 [int]", 0},
	{"int", "int_remainder", ONE_BLOCK, "this remainder of 100 by 0 [int]", 0},
	{"int", "int_quotient", ONE_BLOCK, "-2147483648 / -1 does not fit in 32 bits", 0},
	{"int", "int_loop", ONE_BLOCK, "13 * 479001600 does not fit in 32 bits", 0},
	{"int", "int_inlined", ONE_BLOCK,
		"2113929216 + 33554432 does not fit in 32 bits|"
		"note: in the call of 'area' from here", 63},
	{"int", "good_hash", ONE_BLOCK, NULL},
	{"int", "good_mixed", ONE_BLOCK, NULL},
	{"int", "good_random", ONE_BLOCK, NULL},
	{"int", "good_unsigned_index", ONE_BLOCK, NULL},
	{"int", "good_rotation", ONE_BLOCK, NULL},
	{"int", "good_guarded_shift", ONE_BLOCK, NULL},
	{"int", "good_guarded_division", ONE_BLOCK, NULL},
	{"int", "good_range_test", ONE_BLOCK, NULL},
	{"int", "good_long_shift", ONE_BLOCK, NULL},
	{"int", "good_float_bits", ONE_BLOCK, NULL},
	{"coalesce", "coalesce_stride", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 32 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_rows", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 32 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_write", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 16 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_struct", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 8 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_pairs", ONE_BLOCK,
		"takes 8 sectors of 32 bytes here, in 2 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_mixed", ONE_BLOCK,
		" sectors of 32 bytes here|; 4 sectors have all", -1},
	{"coalesce", "coalesce_atomic", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 32 lines of 128 bytes; 4 sectors",
		0},
	{"coalesce", "coalesce_vector", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 32 lines of 128 bytes; 16 sectors",
		0},
	{"coalesce", "coalesce_double", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 8 lines of 128 bytes; 8 sectors",
		0},
	{"coalesce", "coalesce_bytes", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 16 lines of 128 bytes; 1 sectors",
		0},
	{"coalesce", "coalesce_inlined", ONE_BLOCK,
		"takes 32 sectors of 32 bytes here, in 17 lines of 128 bytes; 4 sectors|"
		"note: in the call of 'load' from here",
		-1},
	{"coalesce", "coalesce_divergent", ONE_BLOCK,
		"takes 16 sectors of 32 bytes here, in 16 lines of 128 bytes; 2 sectors",
		-1},
	{"coalesce", "good_row", ONE_BLOCK, NULL},
	{"coalesce", "good_broadcast", ONE_BLOCK, NULL},
	{"coalesce", "good_reverse", ONE_BLOCK, NULL},
	{"coalesce", "good_offset", ONE_BLOCK, NULL},
	{"coalesce", "good_wide", ONE_BLOCK, NULL},
	{"coalesce", "good_small", ONE_BLOCK, NULL},
	{"coalesce", "good_few", ONE_BLOCK, NULL},
	{"coalesce", "good_shared", ONE_BLOCK, NULL},
	{"coalesce", "good_local", ONE_BLOCK, NULL},
	{"bank", "bank_pairs", ONE_BLOCK, "takes 2 turns here instead of 1: threads", 0},
	{"bank", "bank_column", ONE_BLOCK, "takes 32 turns here instead of 1: threads", 0},
	{"bank", "bank_write", ONE_BLOCK, "takes 8 turns here instead of 1: threads", 0},
	{"bank", "bank_atomic", ONE_BLOCK, "takes 16 turns here instead of 1: threads", 0},
	{"bank", "bank_double", ONE_BLOCK, "takes 8 turns here instead of 2: threads", 0},
	{"bank", "bank_vector", ONE_BLOCK, "takes 8 turns here instead of 4: threads", 0},
	{"bank", "bank_transpose", {1, 32, 8}, "takes 32 turns here instead of 1: threads", 0},
	{"bank", "bank_struct", ONE_BLOCK, "takes 4 turns here instead of 1: threads", 0},
	{"bank", "bank_generic", ONE_BLOCK, "takes 32 turns here instead of 1: threads", 0},
	{"bank", "bank_inlined", ONE_BLOCK,
		"takes 4 turns here instead of 1|note: in the call of 'load' from here", 0},
	{"bank", "bank_dynamic", ONE_BLOCK, "takes 2 turns here instead of 1: threads", 0},
	{"bank", "bank_short", ONE_BLOCK, "takes 2 turns here instead of 1: threads", 0},
	{"bank", "good_row", ONE_BLOCK, NULL},
	{"bank", "good_broadcast", ONE_BLOCK, NULL},
	{"bank", "good_double", ONE_BLOCK, NULL},
	{"bank", "good_vector", ONE_BLOCK, NULL},
	{"bank", "good_small", ONE_BLOCK, NULL},
	{"bank", "good_odd", ONE_BLOCK, NULL},
	{"bank", "good_same", ONE_BLOCK, NULL},
	{"bank", "good_global", ONE_BLOCK, NULL},
	{"bank", "good_few", ONE_BLOCK, NULL},
};

static kz_error err;
static kz_device *dev;
static kz_module *mod;
static char *source;
static const char *const widths[] = {"1", "32", "16", "8"}; /* of KUDZU_CPU_WIDTH */
static int kernels_seen; /* reports of one of the larger kernels */

static void planted_open(const char *name, const char *check, bool fixed, const char *width)
{
	static char instance[64];
	static const char *const instances[] = {instance, NULL};
	static const char *const defines[] = {"FIXED", NULL}, *const folders[] = {FOLDER, NULL};
	char path[96];
	size_t size;
	kz_compile_options options = KZ_COMPILE_OPTIONS_INIT;
	snprintf(path, sizeof(path), FOLDER "/%s.cu", name);
	setenv("KUDZU_CHECK", check, 1);
	setenv("KUDZU_CHECK_PRINT", "0", 1);
	setenv("KUDZU_CPU_WIDTH", width, 1);
	err = (kz_error)KZ_ERROR_INIT;
	ok(file_read(&source, &size, path, &err));
	options.name = path;
	options.include_dirs = folders;
	options.defines = fixed ? defines : NULL;
	const char *run = strstr(source, "// run: ");
	options.instances = run && sscanf(run, "// run: -k %63s", instance) == 1 ? instances : NULL;
	ok(kz_device_open(&dev, "cpu", &err));
	ok(kz_module_compile(&mod, dev, source, &options, &err));
}

static void planted_close(void)
{
	kz_module_release(mod);
	kz_device_close(dev);
	mem_free(source);
}

/* A deadlock ends the device, and is reported like the others. */
static void planted_run(const struct planted *p, const struct planted_check *check, bool fixed)
{
	static int host[64];
	kz_kernel *kernel;
	kz_array *out, *in, *part;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	options.shared_size = 256;
	ok(kz_module_kernel(&kernel, mod, p->kernel, &err));
	ok(kz_array_zeros(&out, dev, KZ_I32, KZ_SHAPE(check->count), &err));
	ok(kz_array_create(&in, dev, KZ_I32, KZ_SHAPE(64), &err));
	ok(kz_array_slice(&part, in, KZ_AT(KZ_SLICE(0, check->written)), &err));
	ok(kz_array_set(part, host, 4 * (size_t)check->written, &err));
	kz_array_release(part);
	const uint64_t addresses[] = {[IN_ARRAY] = kz_array_address(in),
		[IN_FREED] = kz_array_address(in), [IN_HOST] = (uintptr_t)host, [IN_NULL] = 0};
	if (p->in == IN_FREED && !fixed) {
		kz_array_release(in);
		in = NULL;
	}
	kz_args args = KZ_ARGS(out, KZ_DEVPTR(addresses[fixed ? IN_ARRAY : p->in]), 1);
	args.count = check->args;
	ok(kz_launch(kernel, kz_dim(p->launch.blocks, 1, 1),
		kz_dim(p->launch.width, p->launch.height, 1), &options, &err, args));
	const kz_status st = kz_device_synchronize(dev, &err);
	const bool is_deadlock = err.log && strstr(err.log, "deadlock");
	ck_assert_msg(st == (fixed ? KZ_OK : check->status) || (!fixed && is_deadlock),
		"%s: status %d: %s", p->kernel, (int)st, err.message);
	kz_error_clear(&err);
	kz_array_release(in);
	kz_array_release(out);
}

/* Whether a line of the source names a kernel, in a comment at its end. */
static bool planted_is_at(int line, const char *kernel)
{
	const char *at = source;
	while (at && --line > 0) {
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	const size_t length = at ? strcspn(at, "\n") : 0, size = strlen(kernel);
	return length > size + 4 && strncmp(at + length - size, kernel, size) == 0
		&& strncmp(at + length - size - 3, "// ", 3) == 0;
}

struct seen {
	const struct planted *planted;
	int count;
};

static void planted_see(void *user, const kz_report *report)
{
	struct seen *seen = user;
	const struct planted *p = seen->planted;
	char word[128];
	seen->count++;
	ck_assert_msg(p != NULL, "%s", report->text);
	ck_assert_str_eq(report->check, p->check);
	ck_assert_str_eq(report->kernel, p->kernel);
	for (int i = 0; i < report->side_count; i++) {
		ck_assert_msg(planted_is_at(report->sides[i].line, p->kernel), "%s", report->text);
	}
	for (const char *at = p->words; *at; at += strcspn(at, "|"), at += *at == '|') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(at, "|"), at);
		ck_assert_msg(strstr(report->text, word), "'%s' is not in: %s", word, report->text);
	}
	ck_assert_msg(p->thread < 0 || report->sides[0].thread[0] == p->thread, "%s", report->text);
}

static const struct planted_check *planted_find_check(const char *name)
{
	size_t i = 0;
	while (strcmp(checks[i].name, name) != 0) {
		i++;
	}
	return &checks[i];
}

/* Half of the rows run by threads one at a time. */
START_TEST(a_planted_bug_is_found_at_its_line)
{
	const struct planted *p = &planted[_i];
	const struct planted_check *check = planted_find_check(p->check);
	struct seen seen = {p, 0};
	planted_open(check->name, check->setting, false, widths[_i % 2]);
	planted_run(p, check, false);
	ok(kz_device_reports(dev, planted_see, &seen, &err));
	ck_assert_msg(seen.count >= 1 && seen.count <= check->most, "%s: %d reports", p->kernel,
		seen.count);
	planted_close();
}
END_TEST

/* All kernels of a file, by warps, by parts of them, and by threads one at a time. */
START_TEST(kernels_without_a_bug_have_no_report)
{
	const int width = _i % (int)countof(widths);
	const struct planted_check *check = &checks[_i / (int)countof(widths)];
	struct seen seen = {NULL, 0};
	planted_open(check->name, check->setting, true, widths[width]);
	for (size_t i = 0; i < countof(planted); i++) {
		if (strcmp(planted[i].check, check->name) == 0) {
			planted_run(&planted[i], check, true);
		}
	}
	ok(kz_device_reports(dev, planted_see, &seen, &err));
	planted_close();
}
END_TEST

/* Settings of KUDZU_CHECK_SUPPRESS; one that ends in a colon gets the line of the bug. */
static const struct {
	const char *kernel, *setting;
	int shift; /* of the line */
	int count; /* of the reports */
} suppressed[] = {
	{"init_add", "", 0, 1},
	{"init_add", "init_add", 0, 0},
	{"init_add", "init", 0, 1},
	{"init_add", "init_add_all", 0, 1},
	{"init_add", "init_add:", 0, 0},
	{"init_add", "init_add:", 1, 1},
	{"init_add", "init_loop,init_add,init_atomic", 0, 0},
	{"init_add", "init_add:1, init_add:", 0, 0},
	{"init_add", "init_loop:", 0, 1},
	{"ns::init_scale<int, 3>", "ns::init_scale<int, 3>", 0, 0},
	{"ns::init_scale<int, 3>", "init_add,ns::init_scale<int, 3>:", 0, 0},
	{"ns::init_scale<int, 3>", "ns::init_scale<int, 3>:", 1, 1},
	{"ns::init_scale<int, 3>", "ns,init_scale", 0, 1},
};

START_TEST(suppressed_reports_are_left_out)
{
	const char *text = suppressed[_i].setting;
	const struct planted *p = planted;
	char setting[96];
	int line = 1;
	while (strcmp(p->kernel, suppressed[_i].kernel) != 0) {
		p++;
	}
	const struct planted_check *check = planted_find_check(p->check);
	struct seen seen = {p, 0};
	planted_open(check->name, check->setting, false, widths[1]);
	while (!planted_is_at(line, p->kernel)) {
		line++;
	}
	snprintf(setting, sizeof(setting), "%s%.0d", text,
		*text && text[strlen(text) - 1] == ':' ? line + suppressed[_i].shift : 0);
	setenv("KUDZU_CHECK_SUPPRESS", setting, 1);
	planted_run(p, check, false);
	ok(kz_device_reports(dev, planted_see, &seen, &err));
	ck_assert_msg(seen.count == suppressed[_i].count, "'%s': %d reports", setting, seen.count);
	planted_close();
}
END_TEST

/* --- Larger kernels --- */

#define KERNELS FOLDER "/kernels"
enum { WORDS_MOST = 16 };

/* A name begins with the check that finds the bug. */
static const char *const kernels[] = {
	"init_argmax_identity",
	"init_found_flag",
	"init_global_partials",
	"init_half_halo",
	"init_heap_next",
	"init_local_bins",
	"init_matmul_edge",
	"init_pipeline_stage",
	"init_scan_padding",
	"init_shared_histogram",
	"init_tail_reduction",
	"init_warp_sums",
	"init_wmma_rows",
	"memory_constant_weights",
	"memory_cp_async_tail",
	"memory_hash_probe",
	"memory_histogram_top",
	"memory_list_after_free",
	"memory_local_topk",
	"memory_pitch_units",
	"memory_stencil_rows",
	"memory_transpose_inlined",
	"memory_vector_offset",
	"memory_wmma_ragged_k",
	"race_async_neighbour",
	"race_block_scope",
	"race_broadcast",
	"race_bulk_wait",
	"race_compaction_peek",
	"race_half_warp_mask",
	"race_in_place_stencil",
	"race_last_block_fence",
	"race_lock_without_fence",
	"race_matmul_loop",
	"race_named_barrier",
	"race_warp_tail",
	"race_wmma_tile",
	"sync_async_last_stage",
	"sync_ballot_in_loop",
	"sync_barrier_in_helper",
	"sync_grid_barrier",
	"sync_mbarrier_count",
	"sync_named_count",
	"sync_shuffle_from_absent",
	"sync_shuffle_in_branch",
	"sync_stride_loop_barrier",
	"sync_syncwarp_other_half",
	"sync_two_barriers",
	"sync_volatile_lockstep",
};

/* How a kernel is launched, and what with. */
struct planted_call {
	char name[64];
	uint32_t grid[3], block[3], shared;
	kz_arg values[WORDS_MOST];
	char scalars[WORDS_MOST][8];
	kz_array *arrays[WORDS_MOST];
	size_t count;
};

static void planted_read_extents(uint32_t out[3], const char *text)
{
	out[0] = out[1] = out[2] = 1;
	ck_assert_int_ge(sscanf(text, "%u,%u,%u", &out[0], &out[1], &out[2]), 1);
}

static kz_array *planted_make_array(const struct argument *argument)
{
	kz_array *array;
	ok(kz_array_create(&array, dev, argument->dtype, argument->shape, &err));
	if (argument->fill != FILL_NONE) {
		const size_t size = (size_t)kz_array_size(array);
		void *host = mem_zalloc(size, 1);
		argument_fill(argument, host);
		ok(kz_array_set(array, host, size, &err));
		mem_free(host);
	}
	return array;
}

static void planted_add_argument(struct planted_call *call, const char *word)
{
	struct argument argument;
	struct argument_fault fault;
	const size_t i = call->count++;
	ck_assert_msg(argument_parse(&argument, word, &fault), "%s: %s", word, fault.message);
	if (argument.kind == ARGUMENT_ARRAY) {
		call->arrays[i] = planted_make_array(&argument);
		call->values[i] = KZ_ARG(call->arrays[i]);
	} else {
		argument_fill(&argument, call->scalars[i]);
		call->values[i] = kz_arg_pointer(KZ_ARG_VALUE, call->scalars[i],
			kz_dtype_size(argument.dtype));
	}
}

/* Read the comment "// run: ..." of the source.  The kernel is its only one, unless -k names it. */
static void planted_read_call(struct planted_call *call)
{
	char line[256], *rest = line, *word;
	const char *run = strstr(source, "// run: "), *kernel = strstr(source, "__global__ void ");
	ck_assert(run && kernel);
	memset(call, 0, sizeof(*call));
	kernel += strlen("__global__ void ");
	snprintf(call->name, sizeof(call->name), "%.*s", (int)strcspn(kernel, "("), kernel);
	run += strlen("// run: ");
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(run, "\n"), run);
	while ((word = strtok_r(rest, " ", &rest))) {
		if (*word != '-') {
			planted_add_argument(call, word);
			continue;
		}
		const char *value = strtok_r(rest, " ", &rest);
		if (strcmp(word, "--grid") == 0) {
			planted_read_extents(call->grid, value);
		} else if (strcmp(word, "--block") == 0) {
			planted_read_extents(call->block, value);
		} else if (strcmp(word, "--shared") == 0) {
			call->shared = (uint32_t)strtoul(value, NULL, 10);
		} else {
			snprintf(call->name, sizeof(call->name), "%s", value);
		}
	}
}

/* Run the kernel of a file: what became of it. */
static kz_status planted_run_file(void)
{
	struct planted_call call;
	kz_kernel *kernel;
	kz_launch_options options = KZ_LAUNCH_OPTIONS_INIT;
	planted_read_call(&call);
	options.shared_size = call.shared;
	ok(kz_module_kernel(&kernel, mod, call.name, &err));
	ok(kz_launch(kernel, kz_dim(call.grid[0], call.grid[1], call.grid[2]),
		kz_dim(call.block[0], call.block[1], call.block[2]), &options, &err,
		(kz_args){call.values, call.count}));
	const kz_status st = kz_device_synchronize(dev, &err);
	kz_error_clear(&err);
	for (size_t i = 0; i < call.count; i++) {
		kz_array_release(call.arrays[i]);
	}
	return st;
}

/* Whether a report names a line that ends in "// BUG". */
static bool planted_names_bug(const char *text, const char *path)
{
	const size_t size = strlen(path);
	while ((text = strstr(text, path))) {
		text += size;
		if (*text == ':' && planted_is_at(atoi(text + 1), "BUG")) {
			return true;
		}
	}
	return false;
}

static void planted_see_file(void *user, const kz_report *report)
{
	const char *name = user;
	char path[96];
	snprintf(path, sizeof(path), "kernels/%s.cu", name);
	ck_assert_msg(strncmp(name, report->check, strlen(report->check)) == 0, "%s", report->text);
	ck_assert_msg(planted_names_bug(report->text, path), "%s", report->text);
	kernels_seen++;
}

START_TEST(the_bug_of_a_larger_kernel_is_found_at_its_line)
{
	const char *name = kernels[_i];
	char path[64], check[16];
	snprintf(path, sizeof(path), "kernels/%s", name);
	snprintf(check, sizeof(check), "%.*s", (int)strcspn(name, "_"), name);
	planted_open(path, check, false, widths[_i % 2]);
	(void)planted_run_file();
	ok(kz_device_reports(dev, planted_see_file, (void *)(uintptr_t)name, &err));
	ck_assert_msg(kernels_seen > 0, "%s: no report", name);
	planted_close();
}
END_TEST

START_TEST(a_larger_kernel_without_the_bug_has_no_report)
{
	char path[64];
	struct seen seen = {NULL, 0};
	snprintf(path, sizeof(path), "kernels/%s", kernels[_i]);
	planted_open(path, "all", true, widths[1 - _i % 2]);
	const kz_status st = planted_run_file();
	ck_assert_msg(st == KZ_OK, "%s: status %d", path, (int)st);
	ok(kz_device_reports(dev, planted_see, &seen, &err));
	planted_close();
}
END_TEST

SUITE(planted)
{
	Suite *s = suite_create("planted");
	TCase *tc = suite_add_case(s, "bugs");
	if (support_device_count() == 0) {
		return s;
	}
	for (int i = 0; i < (int)countof(planted); i++) {
		if (planted[i].words) {
			tcase_add_loop_test(tc, a_planted_bug_is_found_at_its_line, i, i + 1);
		}
	}
	tc = suite_add_case(s, "mended");
	tcase_add_loop_test(tc, kernels_without_a_bug_have_no_report, 0,
		(int)(countof(widths) * countof(checks)));
	tc = suite_add_case(s, "kernels");
	tcase_add_loop_test(tc, the_bug_of_a_larger_kernel_is_found_at_its_line, 0,
		(int)countof(kernels));
	tcase_add_loop_test(tc, a_larger_kernel_without_the_bug_has_no_report, 0,
		(int)countof(kernels));
	tc = suite_add_case(s, "suppressed");
	tcase_add_loop_test(tc, suppressed_reports_are_left_out, 0, (int)countof(suppressed));
	return s;
}
