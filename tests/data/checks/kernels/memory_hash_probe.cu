// SPDX-License-Identifier: MIT
// run: --grid 1 --block 40 u32[40]=arange u32[64]=4294967295 u32[64] i32:40 u32:64
#define EMPTY 0xffffffffu

__device__ unsigned hash_of(unsigned key)
{
	key ^= key >> 16;
	key *= 0x85ebca6bu;
	key ^= key >> 13;
	return key;
}

/* Inserts keys into an open hash table; 'capacity' is a power of two. */
__global__ void insert(const unsigned *keys, unsigned *slots, unsigned *payload, int n, unsigned capacity)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) {
		return;
	}
	unsigned key = keys[i];
	unsigned slot = (hash_of(key) | 56u) & (capacity - 1u); /* a poor hash: the last slots are crowded */
	for (;;) {
		unsigned old = atomicCAS(&slots[slot], EMPTY, key); // BUG
		if (old == EMPTY || old == key) {
			atomicExch(&payload[slot], (unsigned)i);
			return;
		}
#ifdef FIXED
		slot = (slot + 1u) & (capacity - 1u);
#else
		slot = slot + 1u;
#endif
	}
}
