/* SPDX-License-Identifier: MIT */
/*
 * For callers without a C compiler: the inline functions of the headers as symbols of the library,
 * and the sizes of the public structs.
 *
 * KZ_DEFINE_INLINE makes KZ_INLINE `extern inline`, by which C puts the definitions here.  That is
 * why it stands before everything else.
 */
#define KZ_DEFINE_INLINE
#include "base/common.h"

#include <kudzu/ffi.h>
#include <kudzu/kudzu.h>

#include <string.h>

/* S: begins with its size.  D: other members have defaults, too. */
#define STRUCTS(X, S, D) \
	X(kz_error) X(kz_shape) X(kz_axes) X(kz_dim3) X(kz_arg) X(kz_args) X(kz_var) X(kz_vars) \
	X(kz_arrays) X(kz_slice) X(kz_slices) X(kz_layout) X(kz_layout_member) \
	X(kz_cache_entry) X(kz_finding) X(kz_diagnostic) X(kz_link_input) X(kz_npz_item) \
	X(kz_kernel_stats) X(kz_memory_stats) X(kz_live_memory) \
	X(kz_warm_up_source) X(kz_warm_up_result) X(kz_mt19937) X(kz_ipc_handle) \
	X(kz_tune_parameter) X(kz_tune_config) X(kz_tune_result) \
	S(kz_tunable) S(kz_tune_options) S(kz_tuning_info) \
	X(kz_nodes) X(kz_live_counts) X(kz_copy_side) X(kz_buffer_handle) X(kz_leak) \
	X(kz_report) X(kz_report_side) \
	S(kz_cache_figures) S(kz_custom_options) S(kz_elementwise_call) S(kz_reduction_call) \
	S(kz_device_info) S(kz_compile_options) S(kz_variable_info) S(kz_resources) \
	S(kz_launch_options) S(kz_kernel_info) S(kz_link_options) \
	S(kz_load_options) S(kz_op_options) \
	S(kz_reduce_options) S(kz_fft_options) S(kz_allocator) S(kz_cross_entropy_options) \
	S(kz_cuda_array_options) S(kz_texture_options) \
	S(kz_pointer_info) S(kz_stream_options) S(kz_stream_info) S(kz_event_options) \
	S(kz_capture_options) S(kz_sparse_options) S(kz_sparse_info) S(kz_sparse_cg_result) \
	S(kz_comm_options) X(kz_comm_id) \
	S(kz_operator) S(kz_timing) X(kz_spread) \
	D(kz_cov_options, KZ_COV_OPTIONS_INIT) D(kz_rsvd_options, KZ_RSVD_OPTIONS_INIT) \
	D(kz_sparse_cg_options, KZ_SPARSE_CG_OPTIONS_INIT) \
	S(kz_search_options) S(kz_bincount_options) \
	S(kz_scatter_options) \
	S(kz_csv_options) S(kz_segment_options) \
	D(kz_histogram_options, KZ_HISTOGRAM_OPTIONS_INIT) \
	S(kz_sort_options) S(kz_set_options) S(kz_random_options) \
	D(kz_access_window, KZ_ACCESS_WINDOW_INIT) \
	D(kz_copy_3d_options, KZ_COPY_3D_OPTIONS_INIT) \
	D(kz_scan_options, KZ_SCAN_OPTIONS_INIT) \
	D(kz_integrate_options, KZ_INTEGRATE_OPTIONS_INIT)

#define S(type) static_assert(offsetof(type, size) == 0, "its size comes first");
#define D(type, ...) S(type) static const type type##_defaults = __VA_ARGS__;
#define X(type)
STRUCTS(X, S, D)
#undef X
#undef S
#undef D

static const struct {
	const char *name;
	size_t size;
	bool sized;
	const void *defaults; /* NULL: zeros */
} structs[] = {
#define X(type) {#type, sizeof(type), false, NULL},
#define S(type) {#type, sizeof(type), true, NULL},
#define D(type, ...) {#type, sizeof(type), true, &type##_defaults},
	STRUCTS(X, S, D)
#undef X
#undef S
#undef D
};

size_t kz_struct_init(void *out, size_t size, const char *name)
{
	size_t i = 0;
	while (i < countof(structs) && (!name || strcmp(structs[i].name, name) != 0)) {
		i++;
	}
	if (i == countof(structs)) {
		return 0;
	}
	size_t needed = structs[i].size;
	if (out && size >= needed) {
		memset(out, 0, needed);
		if (structs[i].defaults) {
			memcpy(out, structs[i].defaults, needed);
		} else if (structs[i].sized) {
			memcpy(out, &needed, sizeof(needed));
		}
	}
	return needed;
}
