/* SPDX-License-Identifier: MIT */
#ifndef LIB_OPS_CUSTOM_H
#define LIB_OPS_CUSTOM_H

/* Kernels from users' strings: what elementwise kernels and reductions share. */
#include "base/str.h"
#include "lib/ops/declare.h"
#include "lib/module/module.h"

#include <kudzu/custom.h>

enum {
	CUSTOM_ARRAYS = 24,    /* that are not raw */
	CUSTOM_BLOCK = 256,    /* threads; and the lanes of a reduction */
	CUSTOM_CHUNK = 8192,   /* elements that a reduction combines into one value */
	CUSTOM_VALUE_MAX = 128 /* bytes of a value that is reduced */
};

/* A class of layouts; its kernel is compiled when it is first needed.  Flat: all arrays are
 * contiguous and of one shape, and _ind is not used.  Otherwise there are `ndim` extents. */
struct custom_class {
	int ndim;    /* 0: flat */
	bool ranged; /* the values of i are start, start + step, ... */
	bool apart;  /* flat, on a GPU, and what is written shares no memory with another array */
};

/* What was compiled for a class. */
struct custom_kernels {
	struct kz_module *module;
	struct kz_kernel *main;
	struct kz_kernel *next; /* of a reduction's values, in the flat class only */
};

struct custom {
	struct arena arena;      /* all texts */
	struct kz_device *device;
	int threads;             /* of a block; 1: it walks, see struct layout */
	bool reads_ahead;        /* a GPU, and where each array ends is known: none is raw */
	bool has_index;          /* the operation uses _ind: all axes are kept */
	const char *name;
	const char *symbol;      /* "kz_saxpy" */
	struct declarations args;
	int array_count;         /* that are not raw */
	kz_dtype dtype;          /* of a reduction's value; 0: it is an elementwise kernel */
	const char *preamble, *loop_prep, *operation, *after_loop;
	const char *neutral, *reduce, *map;
	kz_compile_options compile;
	struct rtc_kernel info;  /* for args_convert: the kernel as the user declared it */
	struct kz_kernel face;
	pthread_mutex_t lock;    /* guards the making of kernels */
	_Atomic(struct custom_kernels *) made[2 * (KZ_MAX_DIMS + 2)];
	/* A kernel whose list has letters has a kernel for each set of types that calls gave.  They
	 * share its texts, and live as long as it. */
	_Atomic(struct custom *) instances;
	struct custom *next;
	kz_dtype types[DECLARE_LETTERS]; /* of an instance: what each letter is; 0: not a type */
};

struct kz_elementwise {
	uint32_t tag;            /* OBJECT_ELEMENTWISE */
	struct custom custom;
};

struct kz_reduction {
	uint32_t tag;            /* OBJECT_REDUCTION */
	struct custom custom;
};

/* custom.c */

/* Begin with a cleared struct; from then on custom_finish undoes what was done. */
void custom_begin(struct custom *custom, struct kz_device *dev);
/* Take over the options and the list of arguments; `name` is the one without options. */
kz_status custom_init(struct custom *custom, const char *arguments,
	const kz_custom_options *options, const char *name, kz_error *err);
/* Check that a text is not empty; `what` names it in errors. */
kz_status custom_check_text(const char *text, const char *what, kz_error *err);
/* Copy a text of the code; NULL becomes "". */
kz_status custom_copy(const char **out, struct custom *custom, const char *text, kz_error *err);
/* Compile the kernels for the usual layout, and be ready for calls.  A kernel whose list has
 * letters waits for its types. */
kz_status custom_make_ready(struct custom *custom, kz_error *err);
/* Find or make the kernel for the types that a call gives for letters. */
kz_status custom_instance(struct custom **out, struct custom *generic, const kz_dtype *types,
	kz_error *err);
/* Find or compile the kernels of a class. */
kz_status custom_get(const struct custom_kernels **out, struct custom *custom,
	const struct custom_class *class, kz_error *err);
void custom_finish(struct custom *custom);

/* custom_text.c */

void custom_write(struct str *source, const struct custom *custom,
	const struct custom_class *class);
/* The elements that a thread has, a block's width apart; 0: it goes on as long as there are any. */
int custom_turns(const struct custom *custom, const struct custom_class *class);

/* custom_bind.c */

/* A number as the kernel takes it. */
union custom_slot {
	uint64_t bits;
	float single[2];
	double pair[2];
};

/* The arguments of a call, checked and converted. */
struct custom_call {
	struct custom *custom;
	struct kz_stream *stream;
	kz_shape shape;   /* of all elements */
	int64_t count;
	int array_count;  /* that are not raw */
	const struct kz_array *arrays[CUSTOM_ARRAYS];
	size_t places_of[CUSTOM_ARRAYS]; /* which arguments they are */
	int ndim;         /* what is left of the shape when axes are merged; 0: flat */
	int64_t layout[KZ_MAX_DIMS * (1 + CUSTOM_ARRAYS)]; /* struct kz_layout of the kernel */
	union custom_slot slots[DECLARE_MAX];
	int64_t numbers[4];  /* what the kernel gets after the arguments: n, ... */
	CUdeviceptr to;      /* where a reduction goes */
	void *params[DECLARE_MAX + 8];
	int param_count;
	struct memory *used[DECLARE_MAX + 2];
	int used_count;
};

/* Whether the arrays are apart, for a class. */
bool custom_is_apart(const struct custom_call *call);
kz_status custom_bind(struct custom_call *call, struct custom *custom, struct kz_stream *stream,
	kz_args args, kz_error *err);

#endif
