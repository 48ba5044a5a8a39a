/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_INSPECT_H
#define KUDZU_INSPECT_H

/*
 * What is in an image: kernels with their parameters, variables with their types, and the resources
 * of each kernel.  This needs no device.  kz_module_get_image returns the image of a module.
 *
 *	kz_resources r = KZ_RESOURCES_INIT;
 *	for (int64_t i = 0; i < kz_image_kernel_count(image); i++) {
 *		const char *name = kz_image_kernel_name(image, i);
 *		if (!kz_image_resources(image, name, &r, NULL)) {
 *			printf("%s: %d registers, %lld bytes of stack\n", name, r.registers,
 *				(long long)r.stack_size);
 *		}
 *	}
 *
 * An image never changes, and any thread may call.
 */
#include <kudzu/module.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Return the image of a module.  Borrowed from the module. */
KZ_API const kz_image *kz_module_get_image(const kz_module *mod);

/**
 * Return the symbol of kernel `index` in the image, "_Z5scaleIfLi4EEvPf"; NULL beyond the last.
 * Borrowed from the image.
 */
KZ_API const char *kz_image_kernel_symbol(const kz_image *image, int64_t index);

/**
 * Write a kernel with its parameter types, "saxpy(float, const float *, float *, int)".  An unknown
 * type is "? (4 bytes)", and "..." stands for parameters that only a driver knows.
 *
 * @param out host memory; gets as much as fits, always zero-terminated; may be NULL if size is 0.
 * @param size bytes at `out`.
 * @return the length of the whole text, as snprintf; -1 beyond the last kernel, or if host memory
 *         ran out.
 */
KZ_API int64_t kz_image_kernel_signature(const kz_image *image, int64_t index, char *out,
	int64_t size);

/** Where a variable lies.  The numbers never change. */
typedef enum kz_variable_space {
	KZ_VARIABLE_GLOBAL = 0,   /**< __device__ */
	KZ_VARIABLE_CONSTANT = 1, /**< __constant__ */
	KZ_VARIABLE_MANAGED = 2   /**< __managed__ */
} kz_variable_space;

/** A variable.  All texts are borrowed from the image. */
typedef struct kz_variable_info {
	size_t size;             /**< sizeof(kz_variable_info); set by KZ_VARIABLE_INFO_INIT */
	const char *name;        /**< as in the source: "ns::table" */
	const char *symbol;      /**< in the image: "_ZN2ns5tableE" */
	const char *type;        /**< "float [16]"; NULL if unknown: for images that were compiled
	                              elsewhere, and if the declaration is within an `#if` */
	kz_variable_space space; /**< which memory it is in */
	int32_t align;           /**< bytes; 0 if unknown */
	int64_t byte_size;       /**< of the whole variable */
} kz_variable_info;

#ifdef __cplusplus
#define KZ_VARIABLE_INFO_INIT kz_sized_init<kz_variable_info>()
#else
#define KZ_VARIABLE_INFO_INIT {.size = sizeof(kz_variable_info)}
#endif

/** Return the number of variables.  The compiler leaves out those that nothing uses. */
KZ_API int64_t kz_image_variable_count(const kz_image *image);

/**
 * Describe variable `index`.
 *
 * @param out its size field says how much of the struct the caller knows.
 * @return KZ_OK; KZ_NOT_FOUND beyond the last; KZ_INVALID for a size field that no version had.
 */
KZ_API KZ_NODISCARD kz_status kz_image_variable(const kz_image *image, int64_t index,
	kz_variable_info *out, kz_error *err);

/** The resources that the compiler assigned to a kernel.  Sizes in bytes. */
typedef struct kz_resources {
	size_t size;           /**< sizeof(kz_resources); set by KZ_RESOURCES_INIT */
	int32_t registers;     /**< per thread */
	int32_t barriers;      /**< per block */
	int64_t stack_size;    /**< per thread, with all that it calls; -1 if unknown (recursion) */
	int64_t shared_size;   /**< static shared memory per block */
	int64_t constant_size; /**< parameters and constants */
	int64_t code_size;     /**< machine code */
	int64_t spill_stores;  /**< bytes that a thread spills to its stack; 0 without a stack, else
	                            -1: */
	int64_t spill_loads;   /**< unknown, which "-Xptxas=-v" in nvrtc_options changes */
} kz_resources;

#ifdef __cplusplus
#define KZ_RESOURCES_INIT kz_sized_init<kz_resources>()
#else
#define KZ_RESOURCES_INIT {.size = sizeof(kz_resources)}
#endif

/**
 * Describe the resources that the compiler assigned to a kernel.
 *
 * @param kernel its name, as kz_module_kernel takes it.
 * @param out its size field says how much of the struct the caller knows.
 * @return KZ_OK; KZ_NOT_FOUND; KZ_UNSUPPORTED for PTX and LTO-IR, whose registers are assigned
 *         when a driver or the linker makes machine code of them; KZ_BAD_IMAGE; KZ_INVALID;
 *         KZ_NO_MEMORY.
 */
KZ_API KZ_NODISCARD kz_status kz_image_resources(const kz_image *image, const char *kernel,
	kz_resources *out, kz_error *err);

#ifdef __cplusplus
}
#endif

#endif
