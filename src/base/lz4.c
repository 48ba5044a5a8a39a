/* SPDX-License-Identifier: MIT */
/*
 * LZ4 blocks.  A block is a list of sequences: a token with two 4-bit lengths, literals, and a
 * match, which is so many bytes again from so far back in the output; lengths of 15 go on in the
 * bytes that follow.  The last sequence ends after its literals.
 */
#include "base/lz4.h"

#include <string.h>

enum { MIN_MATCH = 4, LONG_LENGTH = 15 };

struct input {
	const uint8_t *next;
	const uint8_t *end;
};

/* The rest of a length that began with 15; false where the input or all sizes end. */
static bool lz4_take_length(struct input *in, size_t *length)
{
	uint8_t byte;
	if (*length != LONG_LENGTH) {
		return true;
	}
	do {
		if (in->next == in->end) {
			return false;
		}
		byte = *in->next++;
		if (!size_add(length, *length, byte)) {
			return false;
		}
	} while (byte == UINT8_MAX);
	return true;
}

/* A match may overlap what it makes: then as much is copied at a time as is there. */
static void lz4_copy_match(uint8_t *to, size_t back, size_t length)
{
	const uint8_t *from = to - back;
	while (length > back) {
		memcpy(to, from, back);
		to += back;
		length -= back;
		back *= 2;
	}
	memcpy(to, from, length);
}

bool lz4_decode(uint8_t *out, size_t out_size, const uint8_t *data, size_t in_size)
{
	struct input in = {data, data + in_size};
	size_t at = 0;
	while (in.next < in.end) {
		uint8_t token = *in.next++;
		size_t literals = token >> 4;
		size_t match = token & 15;
		if (!lz4_take_length(&in, &literals) || literals > (size_t)(in.end - in.next)
		    || literals > out_size - at) {
			return false;
		}
		memcpy(out + at, in.next, literals);
		at += literals;
		in.next += literals;
		if (in.next == in.end) {
			return at == out_size;
		}
		if (in.end - in.next < 2) {
			return false;
		}
		size_t back = in.next[0] | (size_t)in.next[1] << 8;
		in.next += 2;
		if (back == 0 || back > at || !lz4_take_length(&in, &match)
		    || match > out_size - at || match + MIN_MATCH > out_size - at) {
			return false;
		}
		lz4_copy_match(out + at, back, match + MIN_MATCH);
		at += match + MIN_MATCH;
	}
	return false;
}
