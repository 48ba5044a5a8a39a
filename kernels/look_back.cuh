/* SPDX-License-Identifier: MIT */
/*
 * Sums of the tiles before a tile, in one pass over the tiles: decoupled look-back (Merrill and
 * Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016).  A tile publishes
 * its own sum.  Then it adds up what the tiles before it have published, back to the first one that
 * knows the sum of all tiles up to itself, and publishes that of its own.
 *
 * Tiles take their numbers from a ticket, so a tile waits only for tiles that run already or have
 * ended, in whatever order the blocks run.  A word has a sum, and in its two highest bits what the
 * sum is.  Each access has the whole word, and nothing else is handed over, so relaxed accesses
 * will do.
 *
 * The words begin as zeros.  A round leaves them all as sums of all tiles, which the next round
 * takes for words that nobody has published yet: the numbers of the states go round.
 *
 * Before this text: kz_word, an unsigned type; all but two of its bits hold any sum.
 */
#define KZ_SUM_BITS (8 * (int)sizeof(kz_word) - 2)

static __device__ inline unsigned kz_load_word(const unsigned *from)
{
	unsigned word;
	asm volatile("ld.relaxed.gpu.u32 %0, [%1];" : "=r"(word) : "l"(from) : "memory");
	return word;
}

static __device__ inline unsigned long long kz_load_word(const unsigned long long *from)
{
	unsigned long long word;
	asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
	return word;
}

static __device__ inline void kz_store_word(unsigned *to, unsigned word)
{
	asm volatile("st.relaxed.gpu.u32 [%0], %1;" : : "l"(to), "r"(word) : "memory");
}

static __device__ inline void kz_store_word(unsigned long long *to, unsigned long long word)
{
	asm volatile("st.relaxed.gpu.u64 [%0], %1;" : : "l"(to), "l"(word) : "memory");
}

/* The number of the next tile, the same for all threads of a block. */
static __device__ inline unsigned kz_take_ticket(unsigned *tickets)
{
	__shared__ unsigned ticket;
	if (threadIdx.x == 0) {
		ticket = atomicAdd(tickets, 1u);
	}
	__syncthreads();
	return ticket;
}

/* Publish a tile's own sum.  That of tile 0 is also the sum of all tiles up to it. */
static __device__ inline void kz_publish(kz_word *word, kz_word sum, kz_i64 tile, unsigned round)
{
	const kz_word state = (2 * round + (tile ? 1 : 2)) & 3;
	kz_store_word(word, state << KZ_SUM_BITS | sum);
}

/* The sum of all tiles before, whose words are `stride` apart, after kz_publish. */
static __device__ inline kz_word kz_look_back(kz_word *word, kz_word sum, kz_i64 tile,
	kz_i64 stride, unsigned round)
{
	kz_word before = 0;
	for (kz_i64 back = 1; back <= tile;) {
		const kz_word seen = kz_load_word(word - back * stride);
		const unsigned state = ((unsigned)(seen >> KZ_SUM_BITS) - 2 * round) & 3;
		if (state == 0) {
			continue;
		}
		before += seen & (((kz_word)1 << KZ_SUM_BITS) - 1);
		if (state == 2) {
			break;
		}
		back++;
	}
	if (tile) {
		kz_store_word(word, (kz_word)((2 * round + 2) & 3) << KZ_SUM_BITS | (before + sum));
	}
	return before;
}
