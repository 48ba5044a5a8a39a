// SPDX-License-Identifier: MIT
// run: --grid 1 --block 3 i32[30]=random i32[3] i32:10
struct node {
	int key;
	int uses;
	struct node *next;
};

__device__ struct node *node_create(int key)
{
	struct node *n = new node;
	n->key = key;
#ifdef FIXED
	n->uses = 0;
#endif
	n->next = nullptr;
	return n;
}

/* Counts in a list how often each key comes, and returns the largest count. */
__global__ void mode(const int *keys, int *out, int n)
{
	struct node *head = nullptr;
	for (int i = 0; i < n; i++) {
		int key = keys[threadIdx.x * n + i] % 4;
		struct node *p = head;
		while (p && p->key != key) {
			p = p->next;
		}
		if (!p) {
			p = node_create(key);
			p->next = head;
			head = p;
		}
		p->uses++; // BUG
	}
	int most = 0;
	while (head) {
		struct node *next = head->next;
		most = max(most, head->uses);
		delete head;
		head = next;
	}
	out[threadIdx.x] = most;
}
