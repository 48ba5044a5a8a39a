/* SPDX-License-Identifier: MIT */
#ifndef LIB_RTC_DIAG_H
#define LIB_RTC_DIAG_H

/* NVRTC's log, read, and written again as gcc writes diagnostics. */
#include "base/str.h"

/* Name expressions are lines of a file of their own, sorted, from the second line on. */
#define DIAG_NAME_FILE "__nv_name_map"
#define DIAG_NAME_LINE "#pragma nv_mangled_name "

struct diag_context {
	const char *name;   /* of the source */
	const char *source; /* for errors at its end */
	const char *const *include_dirs; /* for a header that is not there */
	size_t include_count;
	const char *ptx;    /* that the assembler refused; may be NULL */
	unsigned cuda_parts; /* the parts of CUDA's headers that are in include_dirs, as bits */
	const char *cuda_note; /* why CUDA's headers are not there, for people; may be NULL */
};

struct diag {
	char *text;       /* all of it, rendered; "" if nothing is left to say */
	int errors;
	/* The first error; the texts are NULL if there is none. */
	char *message;    /* `expected a ";"` */
	char *excerpt;    /* the line of source; NULL if unknown */
	bool names_prelude; /* it is about something that the prelude has, too */
	char *file;       /* NULL if it has no place */
	int line;
	int column;
	const char *hint; /* static, or NULL */
};

/* False when memory runs out; then nothing is left in *out. */
bool diag_read(struct diag *out, const char *log, const struct diag_context *context);
void diag_free(struct diag *diag);

/* Whether a log has an error for this name expression. */
bool diag_rejects_name(const char *log, const char *expression);
/* Whether that error is that the name fits more than one overload. */
bool diag_name_is_ambiguous(const char *log, const char *expression);
/* What NVRTC says of a name that it rejects, or of what was made of that name; NULL if it says no
 * more than that. */
const char *diag_name_reason(size_t *len, const char *log, const char *expression);

/* Add a line of source and a caret under one of its bytes, as gcc shows them. */
void diag_excerpt(struct str *out, const char *line, size_t len, size_t caret);

#endif
