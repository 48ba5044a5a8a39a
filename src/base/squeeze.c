/* SPDX-License-Identifier: MIT */
/*
 * Big texts of which little is read.  Reading a file is fast; what takes long is the new memory to
 * read it into, by far, so a text of which one kernel is wanted is kept as it is compressed, and
 * there is memory only where somebody reads.
 *
 * The sizes of all pieces, 4 bytes each, lowest first, and the pieces: LZ4 blocks, or as they are,
 * where that is no larger.  Pieces are small, and a text says the same again and again, so each has
 * the first one before it to refer to.  Sizes are looked at when it is opened, blocks when they are
 * decoded.
 */
#include "base/squeeze.h"

#include "base/alloc.h"
#include "base/lz4.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

/* What is less is read as fast as it is unpacked.  No byte of a block can stand for more text. */
enum { LEAST_SIZE = 8 * SQUEEZE_PIECE, MOST_PER_BYTE = 255 };

struct piece {
	const uint8_t *block; /* NULL: the text is there */
	size_t size;
};

struct squeezed {
	pthread_mutex_t lock; /* of the text and the pieces */
	char *text;
	size_t size;
	size_t count;
	struct piece pieces[];
};

static size_t count_pieces(size_t size)
{
	return size / SQUEEZE_PIECE + (size % SQUEEZE_PIECE != 0);
}

/* Bytes of text in a piece. */
static size_t piece_size(size_t size, size_t i)
{
	size_t left = size - i * SQUEEZE_PIECE;
	return left < SQUEEZE_PIECE ? left : SQUEEZE_PIECE;
}

/* What a piece is encoded by way of. */
struct work {
	uint8_t text[2 * SQUEEZE_PIECE]; /* the first piece, and this one */
	uint8_t block[SQUEEZE_PIECE];
};

/* Append a piece, and say how large it is in the list at `list`. */
static void add_piece(struct str *out, size_t list, struct work *work, const char *text,
	size_t size, size_t before)
{
	memcpy(work->text + before, text, size);
	size_t used = lz4_encode_after(work->block, size - 1, work->text, before + size, before);
	uint32_t number = htole32((uint32_t)(used > 0 ? used : size));
	str_addn(out, used > 0 ? (const char *)work->block : text, used > 0 ? used : size);
	if (!out->failed) {
		memcpy(out->data + list, &number, sizeof(number));
	}
}

bool squeeze(struct str *out, const char *text, size_t size)
{
	size_t begin = out->len, count = count_pieces(size);
	struct work *work = size >= LEAST_SIZE ? mem_alloc(sizeof(*work)) : NULL;
	if (!work) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		str_addn(out, "\0\0\0", sizeof(uint32_t));
	}
	for (size_t i = 0; i < count; i++) {
		add_piece(out, begin + i * sizeof(uint32_t), work, text + i * SQUEEZE_PIECE,
			piece_size(size, i), i > 0 ? SQUEEZE_PIECE : 0);
	}
	mem_free(work);
	bool pays = out->len - begin <= size / 2;
	out->len = pays ? out->len : begin;
	return pays && !out->failed;
}

/* Where the pieces are; false if they are not what there is. */
static bool find_pieces(struct squeezed *s, const uint8_t *data, size_t left)
{
	const uint8_t *list = data, *next = data + s->count * sizeof(uint32_t);
	left -= s->count * sizeof(uint32_t);
	for (size_t i = 0; i < s->count; i++, list += sizeof(uint32_t)) {
		uint32_t size;
		memcpy(&size, list, sizeof(size));
		size = le32toh(size);
		if (size > left) {
			return false;
		}
		s->pieces[i] = (struct piece){next, size};
		next += size;
		left -= size;
	}
	return left == 0;
}

kz_status squeezed_open(struct squeezed **out, const void *data, size_t data_size,
	size_t text_size)
{
	size_t count = count_pieces(text_size);
	*out = NULL;
	if (count > data_size / sizeof(uint32_t) || text_size / MOST_PER_BYTE > data_size) {
		return KZ_BAD_IMAGE;
	}
	struct squeezed *s = mem_zalloc(1, sizeof(*s) + count * sizeof(*s->pieces));
	if (!s) {
		return KZ_NO_MEMORY;
	}
	s->size = text_size;
	s->count = count;
	pthread_mutex_init(&s->lock, NULL);
	bool good = find_pieces(s, data, data_size);
	s->text = good ? mem_alloc(text_size + 1) : NULL;
	if (!s->text) {
		squeezed_close(s);
		return good ? KZ_NO_MEMORY : KZ_BAD_IMAGE;
	}
	*out = s;
	return KZ_OK;
}

void squeezed_close(struct squeezed *squeezed)
{
	if (squeezed) {
		pthread_mutex_destroy(&squeezed->lock);
		mem_free(squeezed->text);
		mem_free(squeezed);
	}
}

char *squeezed_text(const struct squeezed *squeezed)
{
	return squeezed->text;
}

/* The lock is held. */
static void read_piece(struct squeezed *s, size_t i)
{
	struct piece *piece = &s->pieces[i];
	size_t size = piece_size(s->size, i);
	char *to = s->text + i * SQUEEZE_PIECE;
	if (!piece->block) {
		return;
	}
	if (piece->size == size) {
		memcpy(to, piece->block, size);
	} else if (!lz4_decode_after((uint8_t *)to, size, piece->block, piece->size,
			(const uint8_t *)s->text, i > 0 ? SQUEEZE_PIECE : 0)) {
		memset(to, ' ', size);
	}
	if (i == s->count - 1) {
		to[size] = '\0';
	}
	piece->block = NULL;
}

void squeezed_read(struct squeezed *squeezed, size_t begin, size_t end)
{
	end = end < squeezed->size ? end : squeezed->size;
	if (begin >= end) {
		return;
	}
	pthread_mutex_lock(&squeezed->lock);
	size_t first = begin / SQUEEZE_PIECE, count = (end - 1) / SQUEEZE_PIECE + 1 - first;
	if (squeezed->pieces[first].block) {
		size_t from = first * SQUEEZE_PIECE, left = squeezed->size - from;
		size_t all = count * SQUEEZE_PIECE;
		mem_expect(squeezed->text + from, all < left ? all : left);
	}
	read_piece(squeezed, 0); /* which the others refer to */
	for (size_t i = first; i < first + count; i++) {
		read_piece(squeezed, i);
	}
	pthread_mutex_unlock(&squeezed->lock);
}

size_t squeezed_count(struct squeezed *squeezed)
{
	size_t count = 0;
	pthread_mutex_lock(&squeezed->lock);
	for (size_t i = 0; i < squeezed->count; i++) {
		count += !squeezed->pieces[i].block;
	}
	pthread_mutex_unlock(&squeezed->lock);
	return count;
}
