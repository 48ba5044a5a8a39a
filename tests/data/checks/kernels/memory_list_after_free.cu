// SPDX-License-Identifier: MIT
// run: --grid 1 --block 4 i32[4] i32:5
struct node {
	int value;
	struct node *next;
};

__device__ struct node *push(struct node *head, int value)
{
	struct node *n = (struct node *)malloc(sizeof *n);
	if (n) {
		n->value = value;
		n->next = head;
	}
	return n ? n : head;
}

/* Each thread builds a list, adds it up, and frees it. */
__global__ void list_sum(int *sums, int count)
{
	struct node *head = nullptr;
	for (int i = 0; i < count; i++) {
		head = push(head, i * (int)threadIdx.x);
	}
	int sum = 0;
	while (head) {
		sum += head->value;
#ifdef FIXED
		struct node *next = head->next;
		free(head);
		head = next;
#else
		free(head);
		head = head->next; // BUG
#endif
	}
	sums[threadIdx.x] = sum;
}
