/* SPDX-License-Identifier: MIT */
/*
 * The order in which einsum contracts its operands, two at a time.
 *
 * Sets of labels are bits.  What a set of operands is contracted to has those of their labels that
 * the output or other operands have, too, whatever the order was.  So for few operands the best
 * order comes from a dynamic programme over the subsets.  For more it is greedy, as in
 * opt_einsum (Smith and Gray, 2018): the next pair is the one that makes memory grow least.
 *
 * Arrays have at most KZ_MAX_DIMS axes, so orders with larger results do not count.
 */
#include "base/common.h"

#include "base/str.h"
#include "lib/linalg/einsum.h"

#include <math.h>
#include <string.h>

enum { EINSUM_BEST = 8, EINSUM_SUBSETS = 1 << EINSUM_BEST };

/* The elements of an array that has these labels. */
static double einsum_size(const struct einsum *e, uint64_t mask)
{
	double size = 1;
	for (; mask; mask &= mask - 1) {
		size *= (double)e->extents[__builtin_ctzll(mask)];
	}
	return size;
}

/* Operations for all products, and for the sums if there are some; elements that are written. */
static double einsum_cost(const struct einsum *e, uint64_t a, uint64_t b, uint64_t result)
{
	double products = einsum_size(e, a | b);
	return products * ((a | b) & ~result ? 2 : 1) + einsum_size(e, result);
}

static bool einsum_has_room(uint64_t mask)
{
	return __builtin_popcountll(mask) <= KZ_MAX_DIMS;
}

static uint64_t einsum_output_mask(const struct einsum *e)
{
	uint64_t mask = 0;
	for (int64_t i = 0; i < e->output.ndim; i++) {
		mask |= UINT64_C(1) << e->output.labels[i];
	}
	return mask;
}

/* Few operands: what the subset is contracted to, at which cost, from which two parts. */

struct einsum_subset {
	uint64_t mask;
	double cost; /* INFINITY: there is no order */
	unsigned part;
};

static void einsum_split(struct einsum_subset *subsets, unsigned set, const struct einsum *e)
{
	struct einsum_subset *best = &subsets[set];
	best->cost = INFINITY;
	best->part = 0;
	/* Each split once: the part has the lowest operand of the set. */
	for (unsigned part = (set - 1) & set; part; part = (part - 1) & set) {
		const struct einsum_subset *a = &subsets[part], *b = &subsets[set ^ part];
		double cost = a->cost + b->cost;
		if (!(part & set & (~set + 1)) || cost >= best->cost
		    || !einsum_has_room(best->mask)) {
			continue;
		}
		cost += einsum_cost(e, a->mask, b->mask, best->mask);
		if (cost < best->cost) {
			best->cost = cost;
			best->part = part;
		}
	}
}

static int einsum_add_step(struct einsum_path *path, const struct einsum *e, int a, int b,
	uint64_t result)
{
	int number = (int)e->operand_count + path->count;
	path->masks[number] = result;
	path->steps[path->count++] = (struct einsum_step){(uint8_t)a, (uint8_t)b,
		einsum_cost(e, path->masks[a], path->masks[b], result)};
	return number;
}

/* The steps of a subset; returns the number of its result. */
static int einsum_add_steps(struct einsum_path *path, const struct einsum *e,
	const struct einsum_subset *subsets, unsigned set)
{
	unsigned part = subsets[set].part;
	if (!part) {
		return __builtin_ctz(set);
	}
	int a = einsum_add_steps(path, e, subsets, part);
	int b = einsum_add_steps(path, e, subsets, set ^ part);
	return einsum_add_step(path, e, a, b, subsets[set].mask);
}

static bool einsum_find_best(struct einsum_path *path, const struct einsum *e)
{
	struct einsum_subset subsets[EINSUM_SUBSETS];
	unsigned all = (1u << e->operand_count) - 1;
	uint64_t of[EINSUM_SUBSETS] = {0}; /* the labels of each subset's operands */
	for (unsigned i = 0; i < e->operand_count; i++) {
		for (unsigned set = 0; set < 1u << i; set++) {
			of[set | 1u << i] = of[set] | path->masks[i];
		}
	}
	uint64_t output = einsum_output_mask(e);
	for (unsigned set = 1; set <= all; set++) {
		subsets[set].mask = of[set] & (output | of[all ^ set]);
		if (set & (set - 1)) {
			einsum_split(subsets, set, e);
		} else {
			subsets[set].cost = 0;
			subsets[set].part = 0;
		}
	}
	if (isinf(subsets[all].cost)) {
		return false;
	}
	(void)einsum_add_steps(path, e, subsets, all);
	return true;
}

/* Many operands */

struct einsum_pair {
	int a, b; /* places in the list of what is left */
	uint64_t mask;
	double growth;
	bool shares; /* a label: others are products of all elements with all, which come last */
};

static bool einsum_is_better(const struct einsum_pair *pair, const struct einsum_pair *than)
{
	return than->a < 0 || (pair->shares && !than->shares)
		|| (pair->shares == than->shares && pair->growth < than->growth);
}

static bool einsum_find_greedily(struct einsum_path *path, const struct einsum *e)
{
	int left[EINSUM_OPERANDS];
	int count = (int)e->operand_count;
	uint64_t output = einsum_output_mask(e);
	for (int i = 0; i < count; i++) {
		left[i] = i;
	}
	while (count > 1) {
		struct einsum_pair best = {.a = -1};
		uint64_t once = output, twice = output, thrice = output;
		for (int i = 0; i < count; i++) {
			uint64_t mask = path->masks[left[i]];
			thrice |= twice & mask;
			twice |= once & mask;
			once |= mask;
		}
		for (int a = 0; a < count; a++) {
			for (int b = a + 1; b < count; b++) {
				uint64_t x = path->masks[left[a]], y = path->masks[left[b]];
				/* Those of both stay if a third one has them, too. */
				struct einsum_pair pair = {a, b, ((x ^ y) | (x & y & thrice)), 0,
					(x & y) != 0};
				pair.growth = einsum_size(e, pair.mask) - einsum_size(e, x)
					- einsum_size(e, y);
				if (einsum_has_room(pair.mask) && einsum_is_better(&pair, &best)) {
					best = pair;
				}
			}
		}
		if (best.a < 0) {
			return false;
		}
		left[best.a] = einsum_add_step(path, e, left[best.a], left[best.b], best.mask);
		left[best.b] = left[--count];
	}
	return true;
}

kz_status einsum_find_path(struct einsum_path *path, const struct einsum *e, kz_error *err)
{
	uint64_t once = einsum_output_mask(e), twice = once;
	path->count = 0;
	for (int64_t i = 0; i < e->operand_count; i++) {
		twice |= once & e->masks[i];
		once |= e->masks[i];
	}
	for (int64_t i = 0; i < e->operand_count; i++) {
		path->masks[i] = e->masks[i] & twice;
	}
	bool found = e->operand_count <= EINSUM_BEST ? einsum_find_best(path, e)
		: einsum_find_greedily(path, e);
	if (!found) {
		return error_set(err, KZ_UNSUPPORTED, "einsum: every order of these operands needs "
			"an array of more than %d extents, or one whose size overflows",
			KZ_MAX_DIMS);
	}
	return KZ_OK;
}

/* As text */

static void einsum_write_term(struct str *text, const struct einsum *e, uint64_t mask)
{
	bool dotted = false;
	for (; mask; mask &= mask - 1) {
		char name = e->names[__builtin_ctzll(mask)];
		if (name != '.') {
			str_addc(text, name);
		} else if (!dotted) {
			str_add(text, "...");
			dotted = true;
		}
	}
}

void einsum_write_path(struct str *text, const struct einsum *e,
	const struct einsum_path *path)
{
	double cost = 0, largest = 0;
	uint64_t all = 0;
	for (int64_t i = 0; i < e->operand_count; i++) {
		all |= e->masks[i];
	}
	for (int i = 0; i < path->count; i++) {
		cost += path->steps[i].cost;
		largest = fmax(largest, einsum_size(e, path->masks[e->operand_count + i]));
	}
	double naive = einsum_size(e, all) * (double)e->operand_count
		+ einsum_size(e, einsum_output_mask(e));
	str_addf(text, "%.3g operations in steps, %.3g in one loop; the largest result has %.3g "
		"elements\n", cost, naive, largest);
	for (int i = 0; i < path->count; i++) {
		const struct einsum_step *step = &path->steps[i];
		str_addf(text, "%d = %d, %d: ", (int)e->operand_count + i, step->a, step->b);
		einsum_write_term(text, e, path->masks[step->a]);
		str_addc(text, ',');
		einsum_write_term(text, e, path->masks[step->b]);
		str_add(text, "->");
		einsum_write_term(text, e, path->masks[e->operand_count + i]);
		str_addf(text, ", %.3g operations\n", step->cost);
	}
}
