/* SPDX-License-Identifier: MIT */
#ifndef LIB_MODULE_MODULE_H
#define LIB_MODULE_MODULE_H

/*
 * module loads images into a device, finds their kernels and variables, checks the arguments of a
 * launch against a kernel's parameters, and launches.
 *
 * This header: images, modules, kernels and their parameters, made by image.c and module.c, read by
 * kernel.c and args.c.
 */
#include "lib/array/array.h"
#include "lib/core/memory.h"
#include "lib/rtc/compile.h"

#include <kudzu/kernel.h>

/* A parameter as a launch needs it. */
struct param {
	enum param_kind kind;
	uint64_t natural;           /* args_tag of the argument that needs no conversion; else 0 */
	int64_t size;
	uint32_t dtypes;            /* bit per built-in dtype that may lie there; 0: no pointer */
	bool has_strides;           /* the kernel gets the strides of an array by itself */
	const char *type;           /* "const float *"; NULL if unknown.  Borrowed from the image */
};

struct kz_kernel {
	uint32_t tag;               /* OBJECT_KERNEL */
	struct kz_module *module;
	const struct rtc_kernel *info;
	CUfunction handle;
	struct param *params;
	size_t param_count;
	char *signature;
	int64_t max_threads;        /* per block, for this kernel */
	int64_t static_shared;
	_Atomic int64_t dynamic_limit; /* dynamic shared memory that the driver was asked for */
	_Atomic int block_1d;       /* block size for kz_launch_1d, 0 until computed */
};

struct kz_image {
	uint32_t tag;               /* OBJECT_IMAGE */
	atomic_int refs;
	struct rtc_image rtc;
	char linker[48];            /* which linker made it; "" if none did */
	struct image_entry *entry;  /* where image_cache.c has it, under its lock; NULL: nowhere */
};

struct kz_module {
	uint32_t tag;               /* OBJECT_MODULE */
	atomic_int refs;
	atomic_int handles;         /* that users hold; without one its kernels cannot be used */
	struct kz_device *device;
	CUmodule handle;
	struct kz_image *image;
	char *log;                  /* the image's, and the driver's words; NULL: the image's */
	struct kz_kernel **kernels; /* of each kernel of the image; NULL until someone asks for
	                               it */
	pthread_mutex_t lock;       /* guards them */
	bool is_the_devices;        /* it holds no count on its device */
	bool is_shared;             /* it is in the table of image_cache.c; each user's count is one
	                               on the device, too */
	struct kz_module *next_shared; /* of the same image, under the lock of that table, as is: */
	int64_t kept_size;          /* what the table keeps, while no user has it */
};

/* image.c */

/* Takes what is in *image, whatever happens. */
kz_status image_take(struct kz_image **out, struct rtc_image *image, kz_error *err);
/* Give a reference back that is not the program's; kz_image_release is for the program's. */
void image_release(struct kz_image *image);

/* module.c */

/* The bytes that it takes, as far as the driver tells. */
int64_t module_measure(const struct kz_module *mod);
struct kz_module *module_retain(struct kz_module *mod);
/* For sets of what graphs use. */
extern const struct use_kind module_kind;
/* If a stream is captured, the graph keeps the module. */
kz_status module_keep_captured(struct kz_module *mod, struct capture *capture, kz_error *err);
static inline kz_status module_capture(struct kz_module *mod, const struct kz_stream *stream,
	kz_error *err)
{
	struct capture *capture = stream_capture(stream);
	return likely(!capture) ? KZ_OK : module_keep_captured(mod, capture, err);
}

/* Undo module_retain; kz_module_release is for users' handles. */
void module_release(struct kz_module *mod);
/* Give back the count that the caller has on the device, which from now on outlives the module;
 * module_drop ends the module. */
void module_forget_device(struct kz_module *mod);
/* Load an image as it is; the caller has the module alone. */
kz_status module_create_plain(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *options, kz_error *err);
/* Give a count of the table of images to a module that its caller has alone. */
void module_share(struct kz_module *mod);
/* Give back a count that holds none on the device: the table's, or one after
 * module_forget_device.  NULL is fine. */
void module_drop(struct kz_module *mod);

/* module_load.c */

/* Load an image, or what the driver takes that can be made of it; the caller has the module
 * alone.  The options are checked. */
kz_status module_create(struct kz_module **out, struct kz_device *dev, struct kz_image *image,
	const kz_load_options *options, kz_error *err);

/* Bytes of any format; the name is for messages. */
struct module_bytes {
	const char *name;
	const void *data;
	size_t size;
};
/* The same for those. */
kz_status module_load_bytes(struct kz_module **out, struct kz_device *dev,
	const struct module_bytes *bytes, const kz_load_options *options, kz_error *err);

/* compile_file.c */

/* Read a file that kz_module_compile_file or kz_watcher_poll gets; freed with mem_free. */
kz_status source_file_read(char **data, size_t *size, const char *path, kz_error *err);
/* Whether it is an image. */
bool source_file_is_image(const char *data, size_t size);
/* Compile what was read. */
kz_status source_file_compile(struct kz_module **out, struct kz_device *dev,
	const struct module_bytes *file, const kz_compile_options *options, kz_error *err);
/* The options for a file, in which its name and folder are, if need be.  *dirs belongs to them and
 * is freed with mem_free, as is *folder. */
struct source_file_options {
	kz_compile_options options;
	const char **dirs;
	char *folder;
};
kz_status source_file_options_init(struct source_file_options *out, const char *path,
	const kz_compile_options *options, kz_error *err);
void source_file_options_finish(struct source_file_options *options);

/* load_options.c */

/* What the driver gets to load an image, and where it writes. */
struct load_jit {
	CUjit_option options[16];
	void *values[16];
	unsigned count;
	char *error_log;            /* "" if it wrote nothing */
	char *info_log;
};

extern const kz_load_options load_defaults;
/* Fail for options that no driver takes. */
kz_status load_check_options(const kz_load_options *options, kz_error *err);
/* load_jit_finish frees it, also after a failure. */
kz_status load_jit_init(struct load_jit *jit, const kz_load_options *options, kz_error *err);
void load_jit_finish(struct load_jit *jit);

/* compile_source.c */

/* Put what the options (may be NULL) and the environment say into a request, and check it. */
kz_status image_read_options(struct rtc_request *request, const kz_compile_options *options,
	kz_error *err);

/* The code names a file for each line: have one with the source, if the options or the guard want
 * that.  *kept is its name, in the request then, and freed with mem_free; NULL: there is none.
 * Unless it `writes`, the file need not be there. */
kz_status image_keep_source(char **kept, struct rtc_request *request,
	const kz_compile_options *options, bool writes, kz_error *err);

/* Compile for a device of this compute capability; without one (0) the options or a default say
 * for what. */
kz_status image_compile(struct kz_image **out, const char *source,
	const kz_compile_options *options, int device_cc, bool ptx_only, kz_error *err);

/* refusal.c */

/* Say in an error what the driver disliked about an image: its log, and for PTX the line. */
void refusal_explain(kz_error *err, const struct rtc_image *image, const char *log);

/* missing.c */

/* Fail with KZ_NOT_FOUND and the names that the module has, because it has none of this name. */
kz_status missing_kernel(const struct kz_image *image, const char *name, kz_error *err);
kz_status missing_variable(const struct kz_image *image, const char *name, kz_error *err);

static inline bool module_is_held(const struct kz_module *mod)
{
	return object_is(mod, OBJECT_MODULE)
		&& atomic_load_explicit(&mod->handles, memory_order_relaxed) > 0;
}

/* Fail because a handle is not that of a module, or of a kernel of a module, that a user holds. */
kz_status module_refuse(const struct kz_module *mod, kz_error *err);
kz_status kernel_refuse(const struct kz_kernel *kernel, kz_error *err);

/* Handles that a caller passed. */
static inline kz_status module_check(const struct kz_module *mod, kz_error *err)
{
	if (likely(module_is_held(mod))) {
		return KZ_OK;
	}
	(void)module_refuse(mod, err);
	return KZ_INVALID;
}

/* The end of a call that gives the program a module, or an image. */
static inline kz_status module_give(struct kz_module *const *out, kz_status st)
{
	const struct kz_module *mod = *out;
	if (!st && mod) {
		object_give(mod, mod->device);
	}
	return st;
}

static inline kz_status image_give(struct kz_image *const *out, kz_status st)
{
	if (!st) {
		object_give(*out, NULL);
	}
	return st;
}

/* A kernel ends with its module, so the module of one that has not is there. */
static inline bool kernel_is_held(const struct kz_kernel *kernel)
{
	return object_is(kernel, OBJECT_KERNEL)
		&& atomic_load_explicit(&kernel->module->handles, memory_order_relaxed) > 0;
}

static inline kz_status kernel_check(const struct kz_kernel *kernel, kz_error *err)
{
	if (likely(kernel_is_held(kernel))) {
		return KZ_OK;
	}
	(void)kernel_refuse(kernel, err);
	return KZ_INVALID;
}

/* args.c */

/* Check one argument against its parameter and convert it.  *slot gets the value; a struct stays
 * where it is.  *place says where the driver is to read the value.  For host memory (KZ_IN ...) the
 * slot is 0, and the caller fills it in.  `index` is from 0. */
kz_status args_convert(uint64_t *slot, void **place, const struct kz_kernel *kernel, size_t index,
	const kz_arg *arg, kz_error *err);

/* Kind and width in one number. */
static inline uint64_t args_tag(const kz_arg *arg)
{
	return (uint32_t)arg->kind | (uint64_t)(uint32_t)arg->width << 32;
}

/* The argument is a kz_array. */
static inline bool args_is_array(const kz_arg *arg)
{
	return arg->kind == KZ_ARG_ARRAY || arg->kind == KZ_ARG_STRIDED;
}

/* The argument is host memory that a launch copies. */
static inline bool args_is_host(const kz_arg *arg)
{
	return arg->kind == KZ_ARG_IN || arg->kind == KZ_ARG_OUT || arg->kind == KZ_ARG_INOUT;
}

/* What struct param.natural is for a parameter. */
uint64_t args_natural(enum param_kind kind, int64_t size);

/* struct param.dtypes: the dtypes that may lie behind a pointer of this C type.  All of them for a
 * type that we cannot judge, and for a value that may be a pointer. */
uint32_t args_dtypes(const struct param *param);
/* The same for an element of that type, "const float", len characters; all for one that we cannot
 * judge. */
uint32_t args_element_dtypes(const char *type, size_t len);

#endif
