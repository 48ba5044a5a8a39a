/* SPDX-License-Identifier: MIT */
/*
 * LZ4 blocks.  A block is a list of sequences: a token with two 4-bit lengths, literals, and a
 * match, which is so many bytes again from so far back in the output; lengths of 15 go on in the
 * bytes that follow.  The last sequence ends behind its literals.
 *
 * What is encoded is the first match that is found, by one table of where four bytes were last: for
 * texts that say the same again and again, which PTX is, that is nearly as good as looking on.
 */
#include "base/lz4.h"

#include <assert.h>
#include <string.h>

enum { MIN_MATCH = 4, LONG_LENGTH = 15 };
/* So many bytes at the end are literals, and no match begins in so many: the format asks for both. */
enum { LAST_LITERALS = 5, LAST_MATCH = 12 };
enum { TABLE_BITS = 12, PATIENCE = 6 };

struct input {
	const uint8_t *next;
	const uint8_t *end;
};

/* The rest of a length that began with 15; false where the input or all sizes end. */
static bool take_length(struct input *in, size_t *length)
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
static void copy_match(uint8_t *to, size_t back, size_t length)
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

/* A match that begins before the output, in what ends at `end`, and may go on into it. */
static void copy_far(uint8_t *out, size_t at, size_t back, size_t length, const uint8_t *end)
{
	size_t far = back - at;
	size_t part = length < far ? length : far;
	memcpy(out + at, end - far, part);
	if (length > part) {
		copy_match(out + back, back, length - part);
	}
}

bool lz4_decode(uint8_t *out, size_t out_size, const uint8_t *data, size_t in_size)
{
	return lz4_decode_after(out, out_size, data, in_size, data, 0);
}

bool lz4_decode_after(uint8_t *out, size_t out_size, const uint8_t *data, size_t in_size,
	const uint8_t *others, size_t before)
{
	struct input in = {data, data + in_size};
	size_t at = 0;
	while (in.next < in.end) {
		uint8_t token = *in.next++;
		size_t literals = token >> 4;
		size_t match = token & 15;
		if (!take_length(&in, &literals) || literals > (size_t)(in.end - in.next)
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
		if (back == 0 || back > at + before || !take_length(&in, &match)
		    || match > out_size - at || match + MIN_MATCH > out_size - at) {
			return false;
		}
		if (back > at) {
			copy_far(out, at, back, match + MIN_MATCH, others + before);
		} else {
			copy_match(out + at, back, match + MIN_MATCH);
		}
		at += match + MIN_MATCH;
	}
	return false;
}

struct output {
	uint8_t *next;
	size_t room;
};

static void put(struct output *out, size_t byte)
{
	*out->next++ = (uint8_t)byte;
}

/* The rest of a length that does not fit into its four bits. */
static void put_length(struct output *out, size_t length)
{
	if (length >= LONG_LENGTH) {
		for (length -= LONG_LENGTH; length >= UINT8_MAX; length -= UINT8_MAX) {
			put(out, UINT8_MAX);
		}
		put(out, length);
	}
}

/* Literals and a match; the last sequence has none, its `back` is 0. */
static bool put_sequence(struct output *out, const uint8_t *literals, size_t count, size_t back,
	size_t length)
{
	size_t match = back > 0 ? length - MIN_MATCH : 0;
	size_t need = 1 + count / UINT8_MAX + 1 + count + 2 + match / UINT8_MAX + 1;
	if (need > out->room) {
		return false;
	}
	const uint8_t *begin = out->next;
	put(out, (count < LONG_LENGTH ? count : LONG_LENGTH) << 4
		| (match < LONG_LENGTH ? match : LONG_LENGTH));
	put_length(out, count);
	memcpy(out->next, literals, count);
	out->next += count;
	if (back > 0) {
		put(out, back & UINT8_MAX);
		put(out, back >> 8);
		put_length(out, match);
	}
	out->room -= (size_t)(out->next - begin);
	return true;
}

static uint32_t load_four(const uint8_t *at)
{
	uint32_t four;
	memcpy(&four, at, sizeof(four));
	return four;
}

/* How many bytes are the same, up to `end` of the later ones. */
static size_t match_length(const uint8_t *earlier, const uint8_t *at, const uint8_t *end)
{
	const uint8_t *begin = at;
	uint64_t one, other;
	for (; end - at >= (ptrdiff_t)sizeof(one); at += sizeof(one), earlier += sizeof(one)) {
		memcpy(&one, earlier, sizeof(one));
		memcpy(&other, at, sizeof(other));
		if (one != other) {
			break;
		}
	}
	while (at < end && *earlier == *at) {
		earlier++;
		at++;
	}
	return (size_t)(at - begin);
}

static uint16_t *place_of(uint16_t table[1 << TABLE_BITS], uint32_t four)
{
	return &table[four * 2654435761u >> (32 - TABLE_BITS)];
}

size_t lz4_encode(uint8_t *out, size_t room, const uint8_t *in, size_t in_size)
{
	return lz4_encode_after(out, room, in, in_size, 0);
}

size_t lz4_encode_after(uint8_t *out, size_t room, const uint8_t *in, size_t in_size,
	size_t before)
{
	uint16_t table[1 << TABLE_BITS] = {0};
	struct output to = {out, room};
	size_t done = before, at = before > 0 ? before : 1; /* literals begin at `done` */
	size_t end = in_size > LAST_MATCH ? in_size - LAST_MATCH : 0;
	assert(in_size <= LZ4_ENCODE_MAX);
	for (size_t i = 0; i + sizeof(uint32_t) <= before; i++) {
		*place_of(table, load_four(in + i)) = (uint16_t)i;
	}
	while (at <= end) {
		uint32_t four = load_four(in + at);
		uint16_t *place = place_of(table, four);
		size_t earlier = *place;
		*place = (uint16_t)at;
		if (load_four(in + earlier) != four) {
			/* Where nothing was found for long, look here and there. */
			at += 1 + ((at - done) >> PATIENCE);
			continue;
		}
		size_t length = match_length(in + earlier, in + at, in + in_size - LAST_LITERALS);
		if (!put_sequence(&to, in + done, at - done, at - earlier, length)) {
			return 0;
		}
		at += length;
		done = at;
	}
	return put_sequence(&to, in + done, in_size - done, 0, 0) ? room - to.room : 0;
}
