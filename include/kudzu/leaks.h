/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LEAKS_H
#define KUDZU_LEAKS_H

/*
 * Objects that were never released, with the file and line where the program created them.
 *
 *	cc -g -DKZ_LEAKS main.c -lkudzu              (in debug builds of the program)
 *	KUDZU_LEAKS=leaks.txt ./a.out                (or a call of kz_device_print_leaks)
 *
 * ("%p" in the name is the process's number, as in KUDZU_TRACE, trace.h.)
 *
 * leaks.txt then has, for each device that was closed, lines such as
 *
 *	cpu: 3 arrays, 12000 bytes, created at main.c:42
 *	cpu: 1 stream, created at main.c:17
 *	cpu: 1 array, 400 bytes, created at main.c:50; kz_add at main.c:51 put its result into the same variable
 *
 * The last line is what kz_add(&a, a, 1, &err) leaves: the old array has no variable any more.
 * kz_add_into(a, a, 1, &err) was meant.  For this line each call looks at what its result's variable held.
 * It compares the bits with the addresses of live objects and does not follow them, so a variable that
 * holds nothing yet does no harm.  The line is there only if the object was not released after all.
 * valgrind may report the look at a variable that was never set: set it to NULL.
 *
 * The list is kept from the first device that is opened while KUDZU_LEAKS is set, from the beginning of a trace
 * (trace.h), or from the first object that a file with KZ_LEAKS creates.  Without these,
 * kz_device_print_leaks knows memory, and numbers of some objects.  A file that is compiled without
 * KZ_LEAKS, or in another language, has its objects on the list, without places.
 *
 * KZ_LEAKS makes a macro of each function that creates objects.  A call through a pointer to such a
 * function creates an object without a place.  A member of a struct cannot be called by such a name.
 *
 * The report at the close of a device has what is live then.  A program may close a device before it
 * releases what it has of it; when the last of these objects is released the file says so.
 */
#include <kudzu/device.h>
#ifdef KZ_LEAKS
#include <kudzu/kudzu.h> /* declares the functions of which there are macros below */
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Objects of one kind that one line created, that one line lost if any did, and that are live. */
typedef struct kz_leak {
	const char *kind;  /**< "array", "stream"; static */
	int64_t count;     /**< objects */
	int64_t size;      /**< bytes of all of them; 0 for kinds that have none */
	const char *file;  /**< as the compiler named it, its end if it is long; "" if it is not known */
	int32_t line;      /**< from 1; 0 if it is not known */
	const char *lost_call; /**< the last function that put its result into the variable with the
	                            handle, "kz_add"; "" if none did */
	const char *lost_file; /**< where that call is, as `file` */
	int32_t lost_line;     /**< as `line` */
} kz_leak;

/** What kz_device_list_leaks calls. */
typedef void kz_leak_fn(void *user, const kz_leak *leak);

/**
 * List the live objects of a device, and those that belong to no device: images, .npz files.
 *
 * @param each called once for each kind and places, largest size first.  The list is complete before the
 *        first call.  The texts of `leak` live as long as the call.
 * @param user passed to `each`.
 * @return KZ_OK; KZ_INVALID for no device and no function; KZ_STATE if no list is kept; KZ_NO_MEMORY, also
 *         if objects are missing because memory ran out earlier.
 */
KZ_API KZ_NODISCARD kz_status kz_device_list_leaks(kz_device *dev, kz_leak_fn *each, void *user,
	kz_error *err);

/** What the macros of KZ_LEAKS call: the calling thread is about to create an object at a place. */
KZ_API void kz_leak_enter(const char *file, int line);

/** It has done so.  @return `st`. */
KZ_API KZ_NODISCARD kz_status kz_leak_leave(kz_status st);

#ifdef __cplusplus
}
#endif

#ifdef KZ_LEAKS
/** A call at this place. */
#define KZ_LEAK(call) (kz_leak_enter(__FILE__, __LINE__), kz_leak_leave(call))
#define kz_apply(...) KZ_LEAK(kz_apply(__VA_ARGS__))
#define kz_argpartition(...) KZ_LEAK(kz_argpartition(__VA_ARGS__))
#define kz_argsort(...) KZ_LEAK(kz_argsort(__VA_ARGS__))
#define kz_argsort_compare(...) KZ_LEAK(kz_argsort_compare(__VA_ARGS__))
#define kz_array_arange(...) KZ_LEAK(kz_array_arange(__VA_ARGS__))
#define kz_array_arange_on(...) KZ_LEAK(kz_array_arange_on(__VA_ARGS__))
#define kz_array_astype(...) KZ_LEAK(kz_array_astype(__VA_ARGS__))
#define kz_array_astype_on(...) KZ_LEAK(kz_array_astype_on(__VA_ARGS__))
#define kz_array_broadcast_to(...) KZ_LEAK(kz_array_broadcast_to(__VA_ARGS__))
#define kz_array_compress(...) KZ_LEAK(kz_array_compress(__VA_ARGS__))
#define kz_array_compress_on(...) KZ_LEAK(kz_array_compress_on(__VA_ARGS__))
#define kz_array_concatenate(...) KZ_LEAK(kz_array_concatenate(__VA_ARGS__))
#define kz_array_contiguous(...) KZ_LEAK(kz_array_contiguous(__VA_ARGS__))
#define kz_array_contiguous_on(...) KZ_LEAK(kz_array_contiguous_on(__VA_ARGS__))
#define kz_array_copy(...) KZ_LEAK(kz_array_copy(__VA_ARGS__))
#define kz_array_copy_on(...) KZ_LEAK(kz_array_copy_on(__VA_ARGS__))
#define kz_array_create(...) KZ_LEAK(kz_array_create(__VA_ARGS__))
#define kz_array_create_growable(...) KZ_LEAK(kz_array_create_growable(__VA_ARGS__))
#define kz_array_create_on(...) KZ_LEAK(kz_array_create_on(__VA_ARGS__))
#define kz_array_diagonal(...) KZ_LEAK(kz_array_diagonal(__VA_ARGS__))
#define kz_array_expand(...) KZ_LEAK(kz_array_expand(__VA_ARGS__))
#define kz_array_eye(...) KZ_LEAK(kz_array_eye(__VA_ARGS__))
#define kz_array_eye_on(...) KZ_LEAK(kz_array_eye_on(__VA_ARGS__))
#define kz_array_flip(...) KZ_LEAK(kz_array_flip(__VA_ARGS__))
#define kz_array_from(...) KZ_LEAK(kz_array_from(__VA_ARGS__))
#define kz_array_from_strided(...) KZ_LEAK(kz_array_from_strided(__VA_ARGS__))
#define kz_array_full(...) KZ_LEAK(kz_array_full(__VA_ARGS__))
#define kz_array_full_like(...) KZ_LEAK(kz_array_full_like(__VA_ARGS__))
#define kz_array_full_like_on(...) KZ_LEAK(kz_array_full_like_on(__VA_ARGS__))
#define kz_array_full_on(...) KZ_LEAK(kz_array_full_on(__VA_ARGS__))
#define kz_array_imag(...) KZ_LEAK(kz_array_imag(__VA_ARGS__))
#define kz_array_imag_on(...) KZ_LEAK(kz_array_imag_on(__VA_ARGS__))
#define kz_array_like(...) KZ_LEAK(kz_array_like(__VA_ARGS__))
#define kz_array_linspace(...) KZ_LEAK(kz_array_linspace(__VA_ARGS__))
#define kz_array_linspace_on(...) KZ_LEAK(kz_array_linspace_on(__VA_ARGS__))
#define kz_array_load(...) KZ_LEAK(kz_array_load(__VA_ARGS__))
#define kz_array_moveaxis(...) KZ_LEAK(kz_array_moveaxis(__VA_ARGS__))
#define kz_array_nonzero(...) KZ_LEAK(kz_array_nonzero(__VA_ARGS__))
#define kz_array_nonzero_on(...) KZ_LEAK(kz_array_nonzero_on(__VA_ARGS__))
#define kz_array_ones(...) KZ_LEAK(kz_array_ones(__VA_ARGS__))
#define kz_array_ones_like(...) KZ_LEAK(kz_array_ones_like(__VA_ARGS__))
#define kz_array_ones_like_on(...) KZ_LEAK(kz_array_ones_like_on(__VA_ARGS__))
#define kz_array_ones_on(...) KZ_LEAK(kz_array_ones_on(__VA_ARGS__))
#define kz_array_ravel(...) KZ_LEAK(kz_array_ravel(__VA_ARGS__))
#define kz_array_ravel_on(...) KZ_LEAK(kz_array_ravel_on(__VA_ARGS__))
#define kz_array_real(...) KZ_LEAK(kz_array_real(__VA_ARGS__))
#define kz_array_repeat(...) KZ_LEAK(kz_array_repeat(__VA_ARGS__))
#define kz_array_reshape(...) KZ_LEAK(kz_array_reshape(__VA_ARGS__))
#define kz_array_reshape_on(...) KZ_LEAK(kz_array_reshape_on(__VA_ARGS__))
#define kz_array_reshape_view(...) KZ_LEAK(kz_array_reshape_view(__VA_ARGS__))
#define kz_array_roll(...) KZ_LEAK(kz_array_roll(__VA_ARGS__))
#define kz_array_slice(...) KZ_LEAK(kz_array_slice(__VA_ARGS__))
#define kz_array_split(...) KZ_LEAK(kz_array_split(__VA_ARGS__))
#define kz_array_split_at(...) KZ_LEAK(kz_array_split_at(__VA_ARGS__))
#define kz_array_split_uneven(...) KZ_LEAK(kz_array_split_uneven(__VA_ARGS__))
#define kz_array_squeeze(...) KZ_LEAK(kz_array_squeeze(__VA_ARGS__))
#define kz_array_stack(...) KZ_LEAK(kz_array_stack(__VA_ARGS__))
#define kz_array_swapaxes(...) KZ_LEAK(kz_array_swapaxes(__VA_ARGS__))
#define kz_array_take(...) KZ_LEAK(kz_array_take(__VA_ARGS__))
#define kz_array_take_along_axis(...) KZ_LEAK(kz_array_take_along_axis(__VA_ARGS__))
#define kz_array_take_along_axis_on(...) KZ_LEAK(kz_array_take_along_axis_on(__VA_ARGS__))
#define kz_array_take_on(...) KZ_LEAK(kz_array_take_on(__VA_ARGS__))
#define kz_array_tile(...) KZ_LEAK(kz_array_tile(__VA_ARGS__))
#define kz_array_to(...) KZ_LEAK(kz_array_to(__VA_ARGS__))
#define kz_array_to_on(...) KZ_LEAK(kz_array_to_on(__VA_ARGS__))
#define kz_array_transpose(...) KZ_LEAK(kz_array_transpose(__VA_ARGS__))
#define kz_array_view(...) KZ_LEAK(kz_array_view(__VA_ARGS__))
#define kz_array_view_as(...) KZ_LEAK(kz_array_view_as(__VA_ARGS__))
#define kz_array_wrap(...) KZ_LEAK(kz_array_wrap(__VA_ARGS__))
#define kz_array_zeros(...) KZ_LEAK(kz_array_zeros(__VA_ARGS__))
#define kz_array_zeros_like(...) KZ_LEAK(kz_array_zeros_like(__VA_ARGS__))
#define kz_array_zeros_like_on(...) KZ_LEAK(kz_array_zeros_like_on(__VA_ARGS__))
#define kz_array_zeros_on(...) KZ_LEAK(kz_array_zeros_on(__VA_ARGS__))
#define kz_bincount(...) KZ_LEAK(kz_bincount(__VA_ARGS__))
#define kz_buffer_create(...) KZ_LEAK(kz_buffer_create(__VA_ARGS__))
#define kz_buffer_create_growable(...) KZ_LEAK(kz_buffer_create_growable(__VA_ARGS__))
#define kz_buffer_create_on(...) KZ_LEAK(kz_buffer_create_on(__VA_ARGS__))
#define kz_buffer_create_pitched(...) KZ_LEAK(kz_buffer_create_pitched(__VA_ARGS__))
#define kz_buffer_import(...) KZ_LEAK(kz_buffer_import(__VA_ARGS__))
#define kz_buffer_view(...) KZ_LEAK(kz_buffer_view(__VA_ARGS__))
#define kz_buffer_wrap(...) KZ_LEAK(kz_buffer_wrap(__VA_ARGS__))
#define kz_cholesky(...) KZ_LEAK(kz_cholesky(__VA_ARGS__))
#define kz_compile(...) KZ_LEAK(kz_compile(__VA_ARGS__))
#define kz_cond(...) KZ_LEAK(kz_cond(__VA_ARGS__))
#define kz_convolve(...) KZ_LEAK(kz_convolve(__VA_ARGS__))
#define kz_correlate(...) KZ_LEAK(kz_correlate(__VA_ARGS__))
#define kz_cross_entropy(...) KZ_LEAK(kz_cross_entropy(__VA_ARGS__))
#define kz_cuda_array_create(...) KZ_LEAK(kz_cuda_array_create(__VA_ARGS__))
#define kz_cuda_array_from(...) KZ_LEAK(kz_cuda_array_from(__VA_ARGS__))
#define kz_cumprod(...) KZ_LEAK(kz_cumprod(__VA_ARGS__))
#define kz_cumprod_on(...) KZ_LEAK(kz_cumprod_on(__VA_ARGS__))
#define kz_cumsum(...) KZ_LEAK(kz_cumsum(__VA_ARGS__))
#define kz_cumsum_on(...) KZ_LEAK(kz_cumsum_on(__VA_ARGS__))
#define kz_cumulative_trapezoid(...) KZ_LEAK(kz_cumulative_trapezoid(__VA_ARGS__))
#define kz_dct(...) KZ_LEAK(kz_dct(__VA_ARGS__))
#define kz_det(...) KZ_LEAK(kz_det(__VA_ARGS__))
#define kz_diag(...) KZ_LEAK(kz_diag(__VA_ARGS__))
#define kz_diagnose(...) KZ_LEAK(kz_diagnose(__VA_ARGS__))
#define kz_diagnostics_create(...) KZ_LEAK(kz_diagnostics_create(__VA_ARGS__))
#define kz_diff(...) KZ_LEAK(kz_diff(__VA_ARGS__))
#define kz_digitize(...) KZ_LEAK(kz_digitize(__VA_ARGS__))
#define kz_dlpack_import_take(...) KZ_LEAK(kz_dlpack_import_take(__VA_ARGS__))
#define kz_dlpack_import_versioned_take(...) KZ_LEAK(kz_dlpack_import_versioned_take(__VA_ARGS__))
#define kz_dot(...) KZ_LEAK(kz_dot(__VA_ARGS__))
#define kz_eig(...) KZ_LEAK(kz_eig(__VA_ARGS__))
#define kz_eigh(...) KZ_LEAK(kz_eigh(__VA_ARGS__))
#define kz_eigvals(...) KZ_LEAK(kz_eigvals(__VA_ARGS__))
#define kz_eigvalsh(...) KZ_LEAK(kz_eigvalsh(__VA_ARGS__))
#define kz_einsum(...) KZ_LEAK(kz_einsum(__VA_ARGS__))
#define kz_elementwise_create(...) KZ_LEAK(kz_elementwise_create(__VA_ARGS__))
#define kz_eval(...) KZ_LEAK(kz_eval(__VA_ARGS__))
#define kz_eval_vars(...) KZ_LEAK(kz_eval_vars(__VA_ARGS__))
#define kz_event_create(...) KZ_LEAK(kz_event_create(__VA_ARGS__))
#define kz_event_create_with(...) KZ_LEAK(kz_event_create_with(__VA_ARGS__))
#define kz_event_import(...) KZ_LEAK(kz_event_import(__VA_ARGS__))
#define kz_fft(...) KZ_LEAK(kz_fft(__VA_ARGS__))
#define kz_fftfreq(...) KZ_LEAK(kz_fftfreq(__VA_ARGS__))
#define kz_fftshift(...) KZ_LEAK(kz_fftshift(__VA_ARGS__))
#define kz_graph_add_alloc(...) KZ_LEAK(kz_graph_add_alloc(__VA_ARGS__))
#define kz_graph_clone(...) KZ_LEAK(kz_graph_clone(__VA_ARGS__))
#define kz_graph_create(...) KZ_LEAK(kz_graph_create(__VA_ARGS__))
#define kz_graph_end(...) KZ_LEAK(kz_graph_end(__VA_ARGS__))
#define kz_graph_instantiate(...) KZ_LEAK(kz_graph_instantiate(__VA_ARGS__))
#define kz_histogram(...) KZ_LEAK(kz_histogram(__VA_ARGS__))
#define kz_idct(...) KZ_LEAK(kz_idct(__VA_ARGS__))
#define kz_ifft(...) KZ_LEAK(kz_ifft(__VA_ARGS__))
#define kz_ifftshift(...) KZ_LEAK(kz_ifftshift(__VA_ARGS__))
#define kz_image_create(...) KZ_LEAK(kz_image_create(__VA_ARGS__))
#define kz_inner(...) KZ_LEAK(kz_inner(__VA_ARGS__))
#define kz_intersect1d(...) KZ_LEAK(kz_intersect1d(__VA_ARGS__))
#define kz_inv(...) KZ_LEAK(kz_inv(__VA_ARGS__))
#define kz_irfft(...) KZ_LEAK(kz_irfft(__VA_ARGS__))
#define kz_isin(...) KZ_LEAK(kz_isin(__VA_ARGS__))
#define kz_kron(...) KZ_LEAK(kz_kron(__VA_ARGS__))
#define kz_linalg_norm(...) KZ_LEAK(kz_linalg_norm(__VA_ARGS__))
#define kz_link(...) KZ_LEAK(kz_link(__VA_ARGS__))
#define kz_log_softmax(...) KZ_LEAK(kz_log_softmax(__VA_ARGS__))
#define kz_lstsq(...) KZ_LEAK(kz_lstsq(__VA_ARGS__))
#define kz_lu(...) KZ_LEAK(kz_lu(__VA_ARGS__))
#define kz_managed_create(...) KZ_LEAK(kz_managed_create(__VA_ARGS__))
#define kz_matmul(...) KZ_LEAK(kz_matmul(__VA_ARGS__))
#define kz_matrix_power(...) KZ_LEAK(kz_matrix_power(__VA_ARGS__))
#define kz_matrix_rank(...) KZ_LEAK(kz_matrix_rank(__VA_ARGS__))
#define kz_mdot(...) KZ_LEAK(kz_mdot(__VA_ARGS__))
#define kz_module_compile(...) KZ_LEAK(kz_module_compile(__VA_ARGS__))
#define kz_module_global(...) KZ_LEAK(kz_module_global(__VA_ARGS__))
#define kz_module_load(...) KZ_LEAK(kz_module_load(__VA_ARGS__))
#define kz_module_load_file(...) KZ_LEAK(kz_module_load_file(__VA_ARGS__))
#define kz_module_load_image(...) KZ_LEAK(kz_module_load_image(__VA_ARGS__))
#define kz_npy_read(...) KZ_LEAK(kz_npy_read(__VA_ARGS__))
#define kz_npz_load(...) KZ_LEAK(kz_npz_load(__VA_ARGS__))
#define kz_npz_open(...) KZ_LEAK(kz_npz_open(__VA_ARGS__))
#define kz_npz_open_memory(...) KZ_LEAK(kz_npz_open_memory(__VA_ARGS__))
#define kz_one_hot(...) KZ_LEAK(kz_one_hot(__VA_ARGS__))
#define kz_outer(...) KZ_LEAK(kz_outer(__VA_ARGS__))
#define kz_partition(...) KZ_LEAK(kz_partition(__VA_ARGS__))
#define kz_pinned_buffer(...) KZ_LEAK(kz_pinned_buffer(__VA_ARGS__))
#define kz_pinned_create(...) KZ_LEAK(kz_pinned_create(__VA_ARGS__))
#define kz_pinned_wrap(...) KZ_LEAK(kz_pinned_wrap(__VA_ARGS__))
#define kz_pinv(...) KZ_LEAK(kz_pinv(__VA_ARGS__))
#define kz_prepared_create(...) KZ_LEAK(kz_prepared_create(__VA_ARGS__))
#define kz_qr(...) KZ_LEAK(kz_qr(__VA_ARGS__))
#define kz_quantile(...) KZ_LEAK(kz_quantile(__VA_ARGS__))
#define kz_random_choice(...) KZ_LEAK(kz_random_choice(__VA_ARGS__))
#define kz_random_create(...) KZ_LEAK(kz_random_create(__VA_ARGS__))
#define kz_random_draw(...) KZ_LEAK(kz_random_draw(__VA_ARGS__))
#define kz_random_integers(...) KZ_LEAK(kz_random_integers(__VA_ARGS__))
#define kz_random_permutation(...) KZ_LEAK(kz_random_permutation(__VA_ARGS__))
#define kz_reduce(...) KZ_LEAK(kz_reduce(__VA_ARGS__))
#define kz_reduce_by_key(...) KZ_LEAK(kz_reduce_by_key(__VA_ARGS__))
#define kz_reduction_create(...) KZ_LEAK(kz_reduction_create(__VA_ARGS__))
#define kz_reduction_run(...) KZ_LEAK(kz_reduction_run(__VA_ARGS__))
#define kz_rfft(...) KZ_LEAK(kz_rfft(__VA_ARGS__))
#define kz_rfftfreq(...) KZ_LEAK(kz_rfftfreq(__VA_ARGS__))
#define kz_run_length_decode(...) KZ_LEAK(kz_run_length_decode(__VA_ARGS__))
#define kz_run_length_encode(...) KZ_LEAK(kz_run_length_encode(__VA_ARGS__))
#define kz_scan(...) KZ_LEAK(kz_scan(__VA_ARGS__))
#define kz_searchsorted(...) KZ_LEAK(kz_searchsorted(__VA_ARGS__))
#define kz_segment_combine(...) KZ_LEAK(kz_segment_combine(__VA_ARGS__))
#define kz_segment_reduce(...) KZ_LEAK(kz_segment_reduce(__VA_ARGS__))
#define kz_setdiff1d(...) KZ_LEAK(kz_setdiff1d(__VA_ARGS__))
#define kz_simps(...) KZ_LEAK(kz_simps(__VA_ARGS__))
#define kz_simps2d(...) KZ_LEAK(kz_simps2d(__VA_ARGS__))
#define kz_slogdet(...) KZ_LEAK(kz_slogdet(__VA_ARGS__))
#define kz_softmax(...) KZ_LEAK(kz_softmax(__VA_ARGS__))
#define kz_solve(...) KZ_LEAK(kz_solve(__VA_ARGS__))
#define kz_solve_triangular(...) KZ_LEAK(kz_solve_triangular(__VA_ARGS__))
#define kz_sparse_cg(...) KZ_LEAK(kz_sparse_cg(__VA_ARGS__))
#define kz_sparse_convert(...) KZ_LEAK(kz_sparse_convert(__VA_ARGS__))
#define kz_sparse_create_coo(...) KZ_LEAK(kz_sparse_create_coo(__VA_ARGS__))
#define kz_sparse_create_csr(...) KZ_LEAK(kz_sparse_create_csr(__VA_ARGS__))
#define kz_sparse_diagonal(...) KZ_LEAK(kz_sparse_diagonal(__VA_ARGS__))
#define kz_sparse_from_dense(...) KZ_LEAK(kz_sparse_from_dense(__VA_ARGS__))
#define kz_sparse_matmul(...) KZ_LEAK(kz_sparse_matmul(__VA_ARGS__))
#define kz_sparse_to_dense(...) KZ_LEAK(kz_sparse_to_dense(__VA_ARGS__))
#define kz_sparse_transpose(...) KZ_LEAK(kz_sparse_transpose(__VA_ARGS__))
#define kz_sort(...) KZ_LEAK(kz_sort(__VA_ARGS__))
#define kz_sort_by_key(...) KZ_LEAK(kz_sort_by_key(__VA_ARGS__))
#define kz_sort_compare(...) KZ_LEAK(kz_sort_compare(__VA_ARGS__))
#define kz_stream_create(...) KZ_LEAK(kz_stream_create(__VA_ARGS__))
#define kz_stream_create_with(...) KZ_LEAK(kz_stream_create_with(__VA_ARGS__))
#define kz_stream_wrap(...) KZ_LEAK(kz_stream_wrap(__VA_ARGS__))
#define kz_surface_create(...) KZ_LEAK(kz_surface_create(__VA_ARGS__))
#define kz_svd(...) KZ_LEAK(kz_svd(__VA_ARGS__))
#define kz_svdvals(...) KZ_LEAK(kz_svdvals(__VA_ARGS__))
#define kz_tensordot(...) KZ_LEAK(kz_tensordot(__VA_ARGS__))
#define kz_tensordot_axes(...) KZ_LEAK(kz_tensordot_axes(__VA_ARGS__))
#define kz_texture_create(...) KZ_LEAK(kz_texture_create(__VA_ARGS__))
#define kz_texture_from(...) KZ_LEAK(kz_texture_from(__VA_ARGS__))
#define kz_topk(...) KZ_LEAK(kz_topk(__VA_ARGS__))
#define kz_trace(...) KZ_LEAK(kz_trace(__VA_ARGS__))
#define kz_trapz(...) KZ_LEAK(kz_trapz(__VA_ARGS__))
#define kz_trapz2d(...) KZ_LEAK(kz_trapz2d(__VA_ARGS__))
#define kz_tril(...) KZ_LEAK(kz_tril(__VA_ARGS__))
#define kz_triu(...) KZ_LEAK(kz_triu(__VA_ARGS__))
#define kz_union1d(...) KZ_LEAK(kz_union1d(__VA_ARGS__))
#define kz_unique(...) KZ_LEAK(kz_unique(__VA_ARGS__))
#define kz_vander(...) KZ_LEAK(kz_vander(__VA_ARGS__))
#define kz_vdot(...) KZ_LEAK(kz_vdot(__VA_ARGS__))
#endif

#endif
