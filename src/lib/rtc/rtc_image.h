/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_RTC_IMAGE_H
#define LIB_RTC_RTC_IMAGE_H

/* Putting an image's list of kernels together: for compile.c and the readers of PTX and cubin. */
#include "lib/rtc/compile.h"
#include "lib/rtc/signature.h"

/*
 * Append a kernel by its symbol, with a layout: the offset and size of each parameter, and of its
 * kind what the image tells.  Takes params, whatever happens.  The name is what the symbol
 * demangles to, and so are the types, where they fit.  False when memory runs out.
 */
bool image_add_kernel(struct rtc_image *image, const char *symbol, size_t symbol_len,
	struct rtc_param *params, size_t count, bool known);

/* Give a kernel the types of a signature, if count and sizes agree.  Takes the type texts. */
void image_merge(struct rtc_kernel *kernel, struct signature *signature, bool from_ptx);

struct rtc_kernel *image_by_symbol(const struct rtc_image *image, const char *symbol);

/* All kernels have been added: of those with one symbol the first is kept, and overloads, which
 * have one name, get their parameter types in it.  False when memory runs out. */
bool image_finish(struct rtc_image *image);

/* Append a variable; of `facts`, space, size and align count.  False when memory runs out. */
bool image_add_variable(struct rtc_image *image, const char *symbol, size_t symbol_len,
	const struct rtc_variable *facts);

/* Give the variable of that name the type in a probe's symbol, if it is of that size.  False when
 * memory runs out. */
bool image_type_variable(struct rtc_image *image, const char *name, const char *probe);

void image_free_variable(struct rtc_variable *variable);

/* Read the kernels and variables; image->data is set.  KZ_BAD_IMAGE, KZ_NO_MEMORY. */
kz_status image_read_ptx(struct rtc_image *image, const char *text, kz_error *err);
kz_status image_read_cubin(struct rtc_image *image, kz_error *err);

/* Whether two names are the same but for white space that does not matter. */
bool image_names_equal(const char *a, const char *b);

/* "ns::scale<float, 4>" without its namespaces; len is that without arguments. */
const char *image_bare_name(const char *name, size_t *len);
/* Whether a name is another one with some namespaces left out. */
bool image_name_fits(const char *name, const char *full);

/* Whether a text is PTX: begins with .version, comments aside. */
bool image_is_ptx(const char *text);

#endif
