/* SPDX-License-Identifier: MIT */
#ifndef BASE_SQUEEZE_H
#define BASE_SQUEEZE_H

/*
 * Big texts of which little is read: compressed in pieces, each of which is made text again when
 * somebody wants to read there, with the first one.
 *
 *	if (squeeze(&bytes, text, size)) ...
 *	squeezed_open(&s, bytes.data, bytes.len, size) ...
 *	squeezed_read(s, 1000, 2000); ... squeezed_text(s) + 1000
 *
 * Whether the pieces are what was written is for who keeps them to know, by a checksum: of one that is
 * damaged the text is blanks.
 */
#include "base/error.h"
#include "base/str.h"

#define SQUEEZE_PIECE 8192 /* bytes of text, but for the last one */

struct squeezed;

/* Append the pieces of a text; false, and nothing is appended, where it does not become much smaller
 * or memory runs out. */
bool squeeze(struct str *out, const char *text, size_t size);

/* Those of a text of that size, which are borrowed until it is closed.  KZ_BAD_IMAGE, KZ_NO_MEMORY. */
kz_status squeezed_open(struct squeezed **out, const void *data, size_t data_size,
	size_t text_size);
void squeezed_close(struct squeezed *squeezed); /* may be NULL */

/* Where the text is, as long as it is open: what was read of it, and a zero behind its end with that. */
char *squeezed_text(const struct squeezed *squeezed);
/* See to it that bytes `begin` up to `end` of the text are there; any thread. */
void squeezed_read(struct squeezed *squeezed, size_t begin, size_t end);
/* Tests: how many pieces are there. */
size_t squeezed_count(struct squeezed *squeezed);

#endif
