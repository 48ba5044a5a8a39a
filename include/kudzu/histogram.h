/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_HISTOGRAM_H
#define KUDZU_HISTOGRAM_H

/*
 * How often values occur: numpy's histogram and bincount.
 *
 *	kz_histogram_options ten = KZ_HISTOGRAM_OPTIONS_INIT;
 *	ten.low = 0;
 *	ten.high = 1;                                    (ten bins from 0 to 1)
 *	if (kz_histogram(&counts, &edges, values, &ten, &err)
 *	    || kz_bincount(&often, whole, NULL, &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *
 * Arrays are of any built-in dtype and any strides.  search.h has the bin of each element
 * (kz_digitize).
 *
 * Ownership: release the results with kz_array_release.
 */
#include <kudzu/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What to count.  Initialize with KZ_HISTOGRAM_OPTIONS_INIT. */
typedef struct kz_histogram_options {
	size_t size;        /**< sizeof(kz_histogram_options) */
	int64_t bins;       /**< how many, of equal width; the macro sets 10 */
	double low;         /**< the lowest edge.  This and `high` 0: the least and the greatest
	                         element, 0 and 1 if there is none.  Equal edges are moved apart by
	                         1 */
	double high;        /**< the highest edge */
	kz_array *edges;    /**< edges of bins of any width instead, 1-d and ascending; or NULL */
	kz_array *weights;  /**< what each element counts, of the array's shape; or NULL: 1.  Not
	                         complex */
	int32_t density;    /**< nonzero: counts divided by their sum and by the widths, in
	                         float64 */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_histogram_options;

#ifdef __cplusplus
#define KZ_HISTOGRAM_OPTIONS_INIT \
	kz_histogram_options{sizeof(kz_histogram_options), 10, 0, 0, nullptr, nullptr, 0, nullptr, \
		{}}
#else
#define KZ_PP_DEFAULTS_kz_histogram_options .size = sizeof(kz_histogram_options), .bins = 10
#define KZ_HISTOGRAM_OPTIONS_INIT {KZ_PP_DEFAULTS_kz_histogram_options}
#endif

/**
 * Count the elements in bins: numpy.histogram.
 *
 * A bin has its lower edge and not its upper one, but for the last bin, which has both.  Elements
 * outside and NaN are not counted.  Where bins of equal width are so narrow that edges are equal
 * after rounding, the last bin with an element's lower edge counts the element, as numpy.histogram
 * does with these edges as `bins`.  Weights are added in float64, in an order that depends on the
 * sizes alone, so the result has the same bits each time and on every device.
 *
 * @param out set to the counts, 1-d, int64; with weights of their dtype, with `density` float64.
 *        NULL on failure.
 * @param edges set to the edges, one more than the bins, of the array's dtype if that is of floats,
 *        else float64; to the options' edges, with one more reference, if there are some.  NULL if
 *        you do not want them.
 * @param array of any shape; not complex.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for less than one bin, high below low, edges that do not ascend (the
 *         message names the first that is below the one before), weights of another shape, complex
 *         numbers and structs; KZ_RANGE for a range that is not finite, also of the elements;
 *         KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: waits for the elements if it looks for their range, and for edges; then in a capture it is
 *        KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_histogram(kz_array **out, kz_array **edges, kz_array *array,
	const kz_histogram_options *options, kz_error *err);

/** How to count.  Initialize with KZ_BINCOUNT_OPTIONS_INIT. */
typedef struct kz_bincount_options {
	size_t size;        /**< sizeof(kz_bincount_options) */
	int64_t minlength;  /**< the least length of the result */
	kz_array *weights;  /**< what each element counts, 1-d and as long; or NULL: 1.  Not
	                         complex */
	kz_stream *stream;  /**< NULL: the device's default stream */
	void *reserved[3];
} kz_bincount_options;

#ifdef __cplusplus
#define KZ_BINCOUNT_OPTIONS_INIT kz_sized_init<kz_bincount_options>()
#else
#define KZ_BINCOUNT_OPTIONS_INIT {.size = sizeof(kz_bincount_options)}
#endif

/**
 * Count how often each number from 0 occurs: numpy.bincount.
 *
 * @param out set to the counts, 1-d, int64; with weights to their sums, float64, as in
 *        kz_histogram.  Its length is the greatest element + 1, or `minlength` if that is more.
 *        NULL on failure.
 * @param array integers or bool, 1-d.
 * @param options NULL for the defaults.
 * @return KZ_OK; KZ_INVALID for an array that is not 1-d or has no integers, for weights of another
 *         length or of complex numbers, and for a negative minlength; KZ_RANGE for a negative
 *         element, the first of which the message names with its index, and for one that is too
 *         large; KZ_DEVICE_MEMORY; KZ_NO_COMPILER.
 * Async: waits for the elements, so in a capture it is KZ_STATE.
 */
KZ_API KZ_NODISCARD kz_status kz_bincount(kz_array **out, kz_array *array,
	const kz_bincount_options *options, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
