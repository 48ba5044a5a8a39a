/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_KERNEL_H
#define KUDZU_KERNEL_H

/*
 * Launching kernels.
 *
 *	kz_launch(saxpy, kz_dim(blocks, 1, 1), kz_dim(256, 1, 1), NULL, &err,
 *		KZ_ARGS(2.0f, x, y, n));
 *
 * KZ_ARGS captures values with their C types.  Before it calls the driver, the library compares
 * their count, kind and size with the kernel's parameters, and the grid, the block and the shared
 * memory with the device.  These values convert:
 *
 *   an integer, bool or enum   to an integer parameter when its value fits (bool: 0 and 1);
 *                              to float or double when exact
 *   a float                    to float and double
 *   a double                   to double; to float only as KZ_F(x)
 *   kz_array *, kz_buffer *    to a pointer: its address; it must be on the kernel's device, and an
 *                              array contiguous (kz_array_is_contiguous)
 *   KZ_STRIDED(array)          to a pointer: the address of an array with any strides, which the
 *                              kernel knows
 *   kz_texture *               to a cudaTextureObject_t: its handle; also of that device
 *   kz_surface *               to a cudaSurfaceObject_t, likewise
 *   NULL (nullptr in C++)      to a null pointer
 *   KZ_DEVPTR(x)               to a pointer: an address from elsewhere, not checked
 *   KZ_VALUE(lvalue)           to a struct (or anything else) of the same size, byte for byte
 *   KZ_IN, KZ_OUT, KZ_INOUT    to a pointer: host memory, which is copied to the device before the
 *                              launch, back after it, or both; the launch then waits
 *
 * Any other pointer is a host pointer, and an error.
 *
 * A kernel that has only a pointer reads the elements of an array in row-major order without gaps.
 * So a transposed view, a column and a broadcast array are refused.  A slice of whole rows passes;
 * the stride of an axis with one element does not matter; an array without elements passes.
 */
#include <kudzu/array.h>
#include <kudzu/graph.h>
#include <kudzu/module.h>
#include <kudzu/preprocessor.h>
#include <kudzu/texture.h>

#ifdef __cplusplus
#include <cstddef>
#include <type_traits>
extern "C" {
#endif

/** Three extents: of a grid in blocks, or of a block in threads. */
typedef struct kz_dim3 {
	int64_t x; /**< at least 1; the innermost */
	int64_t y; /**< at least 1 */
	int64_t z; /**< at least 1; the outermost */
} kz_dim3;

/** Make a kz_dim3. */
KZ_INLINE kz_dim3 kz_dim(int64_t x, int64_t y, int64_t z)
{
	kz_dim3 dim = {x, y, z};
	return dim;
}

/** Make a kz_dim3 of one to three extents, of which those left out are 1: KZ_DIM(16, 16). */
#define KZ_DIM(...) KZ_PP_CAT(KZ_PP_DIM_, KZ_PP_COUNT(__VA_ARGS__))(__VA_ARGS__)
#define KZ_PP_DIM_1(x) kz_dim((x), 1, 1)
#define KZ_PP_DIM_2(x, y) kz_dim((x), (y), 1)
#define KZ_PP_DIM_3(x, y, z) kz_dim((x), (y), (z))

/** The kind of value in a kz_arg.  The numbers never change. */
typedef enum kz_arg_kind {
	KZ_ARG_NONE = 0,
	KZ_ARG_BOOL = 1,         /**< value.u */
	KZ_ARG_INT = 2,          /**< value.i */
	KZ_ARG_UINT = 3,         /**< value.u */
	KZ_ARG_F32 = 4,          /**< value.f */
	KZ_ARG_F64 = 5,          /**< value.d */
	KZ_ARG_ARRAY = 6,        /**< value.p: kz_array */
	KZ_ARG_BUFFER = 7,       /**< value.p: kz_buffer */
	KZ_ARG_POINTER = 8,      /**< value.p: a C pointer; only NULL is accepted */
	KZ_ARG_DEVICE_ADDRESS = 9, /**< value.u */
	KZ_ARG_VALUE = 10,       /**< value.p: `size` bytes */
	KZ_ARG_IN = 11,          /**< value.p: `size` bytes of host memory */
	KZ_ARG_OUT = 12,
	KZ_ARG_INOUT = 13,
	KZ_ARG_COMPLEX = 14,     /**< value.d, imaginary; for array operations only */
	KZ_ARG_ARRAY_OF = 15,    /**< value.u: a dtype; for kz_eval_prepare only */
	KZ_ARG_STRIDED = 16,     /**< value.p: kz_array of any strides */
	KZ_ARG_TEXTURE = 17,     /**< value.p: kz_texture */
	KZ_ARG_SURFACE = 18      /**< value.p: kz_surface */
} kz_arg_kind;

/** One captured argument.  The memory that it points to is borrowed for the call. */
typedef struct kz_arg {
	int32_t kind;      /**< kz_arg_kind */
	int32_t width;     /**< bytes of the C type, for KZ_ARG_BOOL to KZ_ARG_F64; else 0 */
	union {
		int64_t size;      /**< bytes at value.p, for KZ_ARG_VALUE to KZ_ARG_INOUT; else
		                        0 */
		double imaginary;  /**< for KZ_ARG_COMPLEX */
	};
	union {
		int64_t i;
		uint64_t u;
		float f;
		double d;
		const void *p;
	} value;           /**< the member that `kind` says */
} kz_arg;

/** A list of arguments, as KZ_ARGS makes it. */
typedef struct kz_args {
	const kz_arg *items; /**< `count` of them, borrowed */
	size_t count;        /**< 0 to 64 by KZ_ARGS; any number otherwise */
} kz_args;

/** Make an argument without a value.  KZ_ARG picks one of the functions below by type. */
KZ_INLINE kz_arg kz_arg_make(kz_arg_kind kind, int32_t width)
{
	kz_arg arg = {(int32_t)kind, width, {0}, {0}};
	return arg;
}

/** Make a signed integer of `width` bytes. */
KZ_INLINE kz_arg kz_arg_int(int64_t value, int32_t width)
{
	kz_arg arg = kz_arg_make(KZ_ARG_INT, width);
	arg.value.i = value;
	return arg;
}

/** Make an unsigned integer, a bool or a device address; `width` is 0 for an address. */
KZ_INLINE kz_arg kz_arg_uint(kz_arg_kind kind, uint64_t value, int32_t width)
{
	kz_arg arg = kz_arg_make(kind, width);
	arg.value.u = value;
	return arg;
}

/** Make an argument of a kind that points to `size` bytes; borrowed. */
KZ_INLINE kz_arg kz_arg_pointer(kz_arg_kind kind, const volatile void *value, int64_t size)
{
	kz_arg arg = kz_arg_make(kind, 0);
	arg.size = size;
	arg.value.p = (const void *)value;
	return arg;
}

#define KZ_ARG_DEFINE_INT(name, type) \
	KZ_INLINE kz_arg kz_arg_##name(type value) \
	{ \
		return kz_arg_int((int64_t)value, (int32_t)sizeof(type)); \
	}
#define KZ_ARG_DEFINE_UINT(name, type) \
	KZ_INLINE kz_arg kz_arg_##name(type value) \
	{ \
		return kz_arg_uint(KZ_ARG_UINT, (uint64_t)value, (int32_t)sizeof(type)); \
	}
KZ_ARG_DEFINE_INT(schar, signed char)
KZ_ARG_DEFINE_INT(short, short)
KZ_ARG_DEFINE_INT(sint, int)
KZ_ARG_DEFINE_INT(long, long)
KZ_ARG_DEFINE_INT(llong, long long)
KZ_ARG_DEFINE_UINT(uchar, unsigned char)
KZ_ARG_DEFINE_UINT(ushort, unsigned short)
KZ_ARG_DEFINE_UINT(unsigned, unsigned int)
KZ_ARG_DEFINE_UINT(ulong, unsigned long)
KZ_ARG_DEFINE_UINT(ullong, unsigned long long)
#undef KZ_ARG_DEFINE_INT
#undef KZ_ARG_DEFINE_UINT

/** Make a char, signed or unsigned as the compiler has it. */
KZ_INLINE kz_arg kz_arg_char(char value)
{
	kz_arg arg = kz_arg_make((char)-1 < 0 ? KZ_ARG_INT : KZ_ARG_UINT, 1);
	arg.value.i = value;
	return arg;
}

/** Make a float. */
KZ_INLINE kz_arg kz_arg_f32(float value)
{
	kz_arg arg = kz_arg_make(KZ_ARG_F32, (int32_t)sizeof(value));
	arg.value.f = value;
	return arg;
}

/** Make a double. */
KZ_INLINE kz_arg kz_arg_f64(double value)
{
	kz_arg arg = kz_arg_make(KZ_ARG_F64, (int32_t)sizeof(value));
	arg.value.d = value;
	return arg;
}

/** Make a complex operand of array operations.  KZ_ARG does this for C's complex numbers. */
KZ_INLINE kz_arg kz_arg_complex(double real, double imaginary)
{
	kz_arg arg = kz_arg_make(KZ_ARG_COMPLEX, 0);
	arg.value.d = real;
	arg.imaginary = imaginary;
	return arg;
}

/** Pass the address of a contiguous array; borrowed. */
KZ_INLINE kz_arg kz_arg_array(const kz_array *value)
{
	return kz_arg_pointer(KZ_ARG_ARRAY, value, 0);
}

/** Pass the address of an array with any strides; borrowed. */
KZ_INLINE kz_arg kz_arg_strided(const kz_array *value)
{
	return kz_arg_pointer(KZ_ARG_STRIDED, value, 0);
}

/** Pass the address of a buffer; borrowed. */
KZ_INLINE kz_arg kz_arg_buffer(const kz_buffer *value)
{
	return kz_arg_pointer(KZ_ARG_BUFFER, value, 0);
}

/** Pass the handle of a texture; borrowed. */
KZ_INLINE kz_arg kz_arg_texture(const kz_texture *value)
{
	return kz_arg_pointer(KZ_ARG_TEXTURE, value, 0);
}

/** Pass the handle of a surface; borrowed. */
KZ_INLINE kz_arg kz_arg_surface(const kz_surface *value)
{
	return kz_arg_pointer(KZ_ARG_SURFACE, value, 0);
}

/** Make a C pointer.  Launches accept only NULL. */
KZ_INLINE kz_arg kz_arg_host(const volatile void *value)
{
	return kz_arg_pointer(KZ_ARG_POINTER, value, 0);
}

/**
 * What KZ_ARG takes for a value of any other type: pointers, as kz_arg_host.  The compiler shows
 * this name for a struct, which goes by KZ_VALUE.
 */
KZ_INLINE kz_arg kz_pass_structs_by_kz_value(const volatile void *value)
{
	return kz_arg_host(value);
}

/** Return the argument itself, for KZ_ARG. */
KZ_INLINE kz_arg kz_arg_self(kz_arg value)
{
	return value;
}

/** Pass a number as a float, rounded to the nearest. */
#define KZ_F(x) kz_arg_f32((float)(x))

/** Pass the bytes of an lvalue: structs, vector types, half floats. */
#define KZ_VALUE(lvalue) kz_arg_pointer(KZ_ARG_VALUE, &(lvalue), (int64_t)sizeof(lvalue))

/**
 * Pass the address of the first element of an array with any strides.  This states that the kernel
 * knows them, from other arguments or by its code.
 */
#define KZ_STRIDED(array) kz_arg_strided(array)

/** Pass a device address (CUdeviceptr, or a pointer) that the library does not know. */
#define KZ_DEVPTR(x) kz_arg_uint(KZ_ARG_DEVICE_ADDRESS, (uint64_t)(x), 0)

/** Pass host memory that the kernel only reads.  It is copied to the device before the launch. */
#define KZ_IN(pointer, bytes) kz_arg_pointer(KZ_ARG_IN, pointer, (int64_t)(bytes))
/** Pass host memory that the kernel fills.  It is copied back after the launch. */
#define KZ_OUT(pointer, bytes) kz_arg_pointer(KZ_ARG_OUT, pointer, (int64_t)(bytes))
/** Pass host memory that the kernel changes.  It is copied both ways. */
#define KZ_INOUT(pointer, bytes) kz_arg_pointer(KZ_ARG_INOUT, pointer, (int64_t)(bytes))

#ifndef __cplusplus
/** Make a bool. */
KZ_INLINE kz_arg kz_arg_bool(_Bool value)
{
	return kz_arg_uint(KZ_ARG_BOOL, value, (int32_t)sizeof(value));
}

/** Make a complex operand; kz_arg_complex. */
KZ_INLINE kz_arg kz_arg_c64(float _Complex value)
{
	union { float _Complex value; float parts[2]; } both = {value};
	return kz_arg_complex((double)both.parts[0], (double)both.parts[1]);
}

/** Make a complex operand; kz_arg_complex. */
KZ_INLINE kz_arg kz_arg_c128(double _Complex value)
{
	union { double _Complex value; double parts[2]; } both = {value};
	return kz_arg_complex(both.parts[0], both.parts[1]);
}

#define KZ_ARG(x) _Generic((x), \
	_Bool: kz_arg_bool, char: kz_arg_char, \
	signed char: kz_arg_schar, short: kz_arg_short, int: kz_arg_sint, \
	long: kz_arg_long, long long: kz_arg_llong, \
	unsigned char: kz_arg_uchar, unsigned short: kz_arg_ushort, unsigned int: kz_arg_unsigned, \
	unsigned long: kz_arg_ulong, unsigned long long: kz_arg_ullong, \
	float: kz_arg_f32, double: kz_arg_f64, \
	float _Complex: kz_arg_c64, double _Complex: kz_arg_c128, \
	kz_array *: kz_arg_array, const kz_array *: kz_arg_array, \
	kz_buffer *: kz_arg_buffer, const kz_buffer *: kz_arg_buffer, \
	kz_texture *: kz_arg_texture, const kz_texture *: kz_arg_texture, \
	kz_surface *: kz_arg_surface, const kz_surface *: kz_arg_surface, \
	kz_arg: kz_arg_self, default: kz_pass_structs_by_kz_value)(x)
/**
 * Capture 0 to 64 values with their C types for kz_launch.  Cast a bit-field: it has no type of its
 * own.  The list lives until the end of the enclosing block (in C++: of the full expression).
 */
#define KZ_ARGS(...) KZ_PP_CAT(KZ_ARGS_, KZ_PP_IS_EMPTY(__VA_ARGS__))(__VA_ARGS__)
#define KZ_ARGS_1(...) ((kz_args){NULL, 0})
#define KZ_ARGS_0(...) \
	((kz_args){(const kz_arg[]){KZ_PP_MAP(KZ_ARG, __VA_ARGS__)}, KZ_PP_COUNT(__VA_ARGS__)})
#else
#define KZ_ARG(x) kz_arg_of(x)
#define KZ_ARGS(...) kz_args_capture(__VA_ARGS__)
#endif

/**
 * How to launch.  Initialize with KZ_LAUNCH_OPTIONS_INIT.
 */
typedef struct kz_launch_options {
	size_t size;          /**< sizeof(kz_launch_options) */
	kz_stream *stream;    /**< NULL: the device's default stream */
	int64_t shared_size;  /**< dynamic shared memory in bytes; the library asks the driver for
	                           more than the default limit where the device has it */
	int32_t cooperative;  /**< nonzero: all blocks run at once, for grid-wide synchronization */
	int32_t programmatic; /**< nonzero: programmatic dependent launch.  The kernel may begin
	                           before the one before it in the stream has ended, and waits for
	                           it by cudaGridDependencySynchronize().  What it touches before
	                           that must not be memory that earlier work of the stream uses,
	                           nor fresh memory of the pool.  The CPU device runs one kernel of
	                           a stream after the other, whatever this says */
	int32_t cluster[3];   /**< blocks of a cluster along x, y, z, which divide the grid; all 0:
	                           as the source asks for (`__cluster_dims__`).  The CPU device has
	                           clusters of one block */
	int32_t reserved_int;
	int64_t timeout_ms;   /**< milliseconds that the kernel may run; 0: as KZ_LIMIT_LAUNCH_MS of
	                           the device says, by default forever.  One that runs longer is
	                           ended: the next call that waits returns KZ_TIMEOUT, whose log
	                           names the kernel and the limit.  As after any kernel that fails,
	                           the device works again once all handles on it are closed.  On a
	                           GPU, which cannot end a kernel: KZ_UNSUPPORTED */
	void *reserved[1];
} kz_launch_options;

#ifdef __cplusplus
#define KZ_LAUNCH_OPTIONS_INIT kz_sized_init<kz_launch_options>()
#else
#define KZ_LAUNCH_OPTIONS_INIT {.size = sizeof(kz_launch_options)}
#endif

/**
 * Launch a kernel.
 *
 * @param grid blocks, each extent from 1 to the device's limit.
 * @param block threads, likewise.
 * @param options NULL for the defaults.
 * @param args KZ_ARGS(...).
 * @return KZ_OK; KZ_ARGUMENT if the arguments do not match the kernel's parameters, and for an
 *         array that is not contiguous and is passed without KZ_STRIDED; KZ_LAUNCH if
 *         the grid, the block or the shared memory exceeds the device's limits, and for a cluster
 *         that does not divide the grid; KZ_UNSUPPORTED for a cluster of more than one block on a
 *         device that has none, and for a time limit on a GPU; KZ_INVALID; the driver's failures,
 *         which may belong to earlier work.
 * Async: returns before the kernel has run.  With KZ_IN, KZ_OUT or KZ_INOUT it returns after that.
 */
KZ_API KZ_NODISCARD kz_status kz_launch(kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, kz_error *err, kz_args args);

/** Launch a kernel with an array of arguments, for bindings and computed lists; as kz_launch. */
KZ_API KZ_NODISCARD kz_status kz_launch_args(kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, const kz_arg *args, size_t count, kz_error *err);

/**
 * Launch a kernel over `count` elements, with one thread for each.
 *
 * The size of a block is what the driver suggests for full occupancy without dynamic shared memory.
 * The last block may have more threads than elements are left, so the kernel must check its index.
 *
 * @param count 0 launches nothing.
 * @return as kz_launch; also KZ_LAUNCH for a negative count.
 * Async: as kz_launch.
 */
KZ_API KZ_NODISCARD kz_status kz_launch_1d(kz_kernel *kernel, int64_t count,
	const kz_launch_options *options, kz_error *err, kz_args args);

/**
 * Launch a kernel over a grid of elements, with one thread for each: x below `width`, y below
 * `height`.
 *
 * A block has up to 32 threads along x, so that a row's elements are next to each other in memory,
 * and in all as many as kz_launch_1d takes.  The last blocks of both axes may reach beyond the
 * extents, so the kernel must check both indexes.
 *
 * @param width of the grid in elements; 0 launches nothing, as does a height of 0.
 * @return as kz_launch; also KZ_LAUNCH for a negative extent.
 * Async: as kz_launch.
 */
KZ_API KZ_NODISCARD kz_status kz_launch_2d(kz_kernel *kernel, int64_t width, int64_t height,
	const kz_launch_options *options, kz_error *err, kz_args args);

/** Launch a kernel over a box of elements, z below `depth`; as kz_launch_2d. */
KZ_API KZ_NODISCARD kz_status kz_launch_3d(kz_kernel *kernel, int64_t width, int64_t height,
	int64_t depth, const kz_launch_options *options, kz_error *err, kz_args args);

/** The resources of a kernel.  Sizes in bytes. */
typedef struct kz_kernel_info {
	size_t size;                   /**< sizeof(kz_kernel_info); set by KZ_KERNEL_INFO_INIT */
	int32_t registers;             /**< per thread; on the CPU device an estimate from the PTX,
	                                    16 to 64, by which it computes the occupancy */
	int32_t max_threads_per_block; /**< for this kernel */
	int64_t shared_size;           /**< static shared memory per block */
	int64_t local_size;            /**< local memory per thread; a GPU's has the spills, too */
	int64_t constant_size;         /**< constant memory of the program */
	int32_t ptx_version;           /**< 10 * major + minor */
	int32_t binary_version;        /**< of machine code, as ptx_version; on the CPU device its
	                                    compute capability */
	int64_t param_count;           /**< -1 if unknown */
	int64_t dynamic_shared_size;   /**< the most that a launch can ask for; see
	                                    kz_launch_options */
	int32_t cluster_required;      /**< nonzero: it launches only in clusters of blocks */
	int32_t cluster[3];            /**< blocks of a cluster, as the source asks for; 0: none */
	int64_t code_size;             /**< machine code that the CPU device made; 0: unknown */
	int32_t width;                 /**< threads that run as one vector on the CPU device; 0:
	                                    unknown */
	int32_t tier;                  /**< 1: the CPU device compiled it to be ready soon; 2: this
	                                    is its best code; 0: unknown; see kz_kernel_optimize */
	double compile_ms;             /**< milliseconds that the CPU device took for this code: to
	                                    compile it, or to read it from the kernel cache; 0:
	                                    unknown */
	int64_t spill_stores;          /**< bytes that a thread writes to its stack to spill
	                                    registers, ... */
	int64_t spill_loads;           /**< ... and reads; -1: unknown.  Known of a cubin's kernel
	                                    without a stack: 0; and of others if "-Xptxas=-v" is
	                                    among the nvrtc_options.  Never known of PTX, so not on
	                                    the CPU device, where one register of a thread is not
	                                    one of the processor */
	int32_t best_block;            /**< threads of a block that fills a multiprocessor best,
	                                    without dynamic shared memory; kz_launch_1d takes it */
	int32_t best_block_count;      /**< so many of these run at once on a multiprocessor; 0:
	                                    unknown */
	double occupancy;              /**< their threads as a share of the most that it can have, 0
	                                    to 1; see kz_kernel_occupancy for other blocks */
	int32_t carveout;              /**< KZ_KERNEL_CARVEOUT, -1 until it is set */
	int32_t reserved_int;
} kz_kernel_info;

#ifdef __cplusplus
#define KZ_KERNEL_INFO_INIT kz_sized_init<kz_kernel_info>()
#else
#define KZ_KERNEL_INFO_INIT {.size = sizeof(kz_kernel_info)}
#endif

/** Fill in the resources of a kernel; `info->size` as for kz_device_describe. */
KZ_API KZ_NODISCARD kz_status kz_kernel_describe(kz_kernel *kernel, kz_kernel_info *info,
	kz_error *err);

/**
 * Wait for the best code of a kernel.
 *
 * The CPU device starts a kernel whose best code takes long to compile with code that is compiled
 * soon but runs slower.  From the second launch on, or the first if that has much to do, a thread
 * compiles the best code for the blocks that are launched, and launches switch to it.  This call
 * waits for that, and has the best code compiled where that has not begun.
 * Elsewhere, and for other kernels, it returns at once, as it does where `KUDZU_CPU_TIER` is set.
 *
 * @return KZ_OK; KZ_INVALID: the kernel is NULL; or as kz_module_kernel: compiling has failed, and
 *         the
 *	kernel keeps the code that it has.
 */
KZ_API KZ_NODISCARD kz_status kz_kernel_optimize(kz_kernel *kernel, kz_error *err);

/** What a program can prefer for a kernel.  The numbers never change. */
typedef enum kz_kernel_option {
	/** How much of the memory that serves as L1 cache and as shared memory should be shared
	    memory: from 0 to 100 percent; -1: as the driver likes. */
	KZ_KERNEL_CARVEOUT = 0,
	/** A kz_cache_preference. */
	KZ_KERNEL_CACHE = 1
} kz_kernel_option;

/** What a kernel needs more: L1 cache or shared memory.  The numbers are the driver's. */
typedef enum kz_cache_preference {
	KZ_CACHE_NONE = 0,   /**< as the driver likes */
	KZ_CACHE_SHARED = 1, /**< more shared memory */
	KZ_CACHE_L1 = 2,     /**< more L1 cache */
	KZ_CACHE_EQUAL = 3   /**< as much of both */
} kz_cache_preference;

/**
 * Set a preference for the launches of a kernel from now on.
 *
 * It is a hint, which changes speed and never results; the CPU device has neither memory.  All that
 * compiled the same source may share the kernel, and so the preference.
 *
 * @param value as the option says.
 * @return KZ_OK; KZ_INVALID for no kernel, no option, and a value that the option does not have;
 *         KZ_UNSUPPORTED or KZ_VERSION if the driver does not know it; the driver's failures.
 */
KZ_API KZ_NODISCARD kz_status kz_kernel_set_option(kz_kernel *kernel, kz_kernel_option option,
	int64_t value, kz_error *err);

/**
 * Ask how many blocks of a kernel run at once on a multiprocessor.
 *
 * This number times the number of multiprocessors is the limit of a cooperative grid on a GPU.  On
 * the CPU device memory is the limit.
 *
 * @param out set to the number of blocks; 0 if not even one fits, and on failure.
 * @param share set to the threads of these blocks as a share of the most that a multiprocessor can
 *        have, 0 to 1; may be NULL.
 * @param threads of a block.
 * @param shared_size dynamic shared memory of a block in bytes.
 * @return KZ_OK; KZ_LAUNCH for a block or shared memory that the kernel cannot have; KZ_INVALID;
 *         KZ_UNSUPPORTED if the driver cannot tell.
 */
KZ_API KZ_NODISCARD kz_status kz_kernel_occupancy(int64_t *out, double *share, kz_kernel *kernel,
	int64_t threads, int64_t shared_size, kz_error *err);

/** Return the kernel's name as in the source.  Borrowed from the module. */
KZ_API const char *kz_kernel_name(const kz_kernel *kernel);

/**
 * Return the kernel with its parameter types, "saxpy(float, const float *, float *, int)".  An
 * unknown type is "? (4 bytes)".  Borrowed from the module.
 */
KZ_API const char *kz_kernel_signature(const kz_kernel *kernel);

/** Return the driver's CUfunction, for other libraries.  Borrowed. */
KZ_API void *kz_kernel_handle(const kz_kernel *kernel);

/* Kernels in graphs; graph.h has graphs */

/**
 * Add a node to a graph that launches a kernel.
 *
 * @param out set to the node, NULL on failure; may be NULL.
 * @param after the nodes that it comes after.
 * @param options NULL for the defaults; the stream does not matter.
 * @return as kz_launch; KZ_INVALID for a node of another graph; KZ_UNSUPPORTED for a
 *         cooperative or programmatic launch, for a cluster and a time limit: capture these.
 * Ownership: the node belongs to the graph, which keeps the kernel's module and the arguments'
 * memory.
 */
KZ_API KZ_NODISCARD kz_status kz_graph_add_kernel(kz_node **out, kz_graph *graph, kz_nodes after,
	kz_kernel *kernel, kz_dim3 grid, kz_dim3 block, const kz_launch_options *options,
	kz_error *err, kz_args args);

/** The same with an array of arguments, for bindings and computed lists. */
KZ_API KZ_NODISCARD kz_status kz_graph_add_kernel_args(kz_node **out, kz_graph *graph,
	kz_nodes after, kz_kernel *kernel, kz_dim3 grid, kz_dim3 block,
	const kz_launch_options *options, const kz_arg *args, size_t count, kz_error *err);

/**
 * Give a kernel node of a graph other arguments, from the next launch of the graph on.
 *
 * They are checked and converted as by kz_launch.  The graph keeps their memory in the place of
 * that of the arguments before.
 *
 * @param name of the node; see kz_graph_node.
 * @return KZ_OK; KZ_NOT_FOUND for an unknown name; KZ_INVALID for a node that is not a kernel;
 *         KZ_ARGUMENT if the arguments do not match the kernel's parameters, and for KZ_IN, KZ_OUT
 *         and KZ_INOUT; the driver's failures.  After a failure the node has its old arguments.
 */
KZ_API KZ_NODISCARD kz_status kz_exec_set_args(kz_exec *exec, const char *name, kz_error *err,
	kz_args args);

/** The same with an array of arguments, for bindings and computed lists. */
KZ_API KZ_NODISCARD kz_status kz_exec_set_args_list(kz_exec *exec, const char *name,
	const kz_arg *args, size_t count, kz_error *err);

#ifdef __cplusplus
}

/* Integers, bool and char are a template: as functions of their own these would take whatever
 * converts to them, the address of a function as a bool. */
inline kz_arg kz_arg_of(float value) { return kz_arg_f32(value); }
inline kz_arg kz_arg_of(double value) { return kz_arg_f64(value); }
inline kz_arg kz_arg_of(const kz_array *value) { return kz_arg_array(value); }
inline kz_arg kz_arg_of(const kz_buffer *value) { return kz_arg_buffer(value); }
inline kz_arg kz_arg_of(const kz_texture *value) { return kz_arg_texture(value); }
inline kz_arg kz_arg_of(const kz_surface *value) { return kz_arg_surface(value); }
inline kz_arg kz_arg_of(std::nullptr_t) { return kz_arg_host(nullptr); }
inline kz_arg kz_arg_of(const volatile void *value) { return kz_arg_host(value); }
inline kz_arg kz_arg_of(const kz_arg &value) { return value; }

template <class T, typename std::enable_if<std::is_integral<T>::value, int>::type = 0>
kz_arg kz_arg_of(T value)
{
	static_assert(sizeof(T) <= sizeof(int64_t), "pass integers beyond 64 bits by KZ_VALUE");
	return std::is_signed<T>::value
		? kz_arg_int(static_cast<int64_t>(value), static_cast<int32_t>(sizeof(T)))
		: kz_arg_uint(std::is_same<T, bool>::value ? KZ_ARG_BOOL : KZ_ARG_UINT,
			static_cast<uint64_t>(value), static_cast<int32_t>(sizeof(T)));
}

template <class T, typename std::enable_if<
	(std::is_class<T>::value || std::is_union<T>::value) && !std::is_same<T, kz_arg>::value
	&& !std::is_convertible<const T &, const volatile void *>::value
	&& !std::is_convertible<const T &, double>::value, int>::type = 0>
kz_arg kz_arg_of(const T &)
{
	static_assert(sizeof(T) == 0, "pass a struct or a class as KZ_VALUE(lvalue)");
	return kz_arg_make(KZ_ARG_NONE, 0);
}

template <class T, typename std::enable_if<std::is_enum<T>::value, int>::type = 0>
kz_arg kz_arg_of(T value)
{
	return kz_arg_of(static_cast<typename std::underlying_type<T>::type>(value));
}

/** The list behind KZ_ARGS in C++. */
template <size_t N>
struct kz_arg_list {
	kz_arg items[N ? N : 1];
	operator kz_args() const { return kz_args{N ? items : nullptr, N}; }
};

template <class... T>
kz_arg_list<sizeof...(T)> kz_args_capture(const T &...values)
{
	static_assert(sizeof...(T) <= 64, "KZ_ARGS takes at most 64 arguments");
	return kz_arg_list<sizeof...(T)>{{kz_arg_of(values)...}};
}
#endif

#endif
