/* SPDX-License-Identifier: MIT */
/* Write docs/ptx.md from the table of instructions, src/cpu/ptx/ptx.def. */
#include "base/common.h"

#include "cpu/ptx/ptx.h"

#include <stdio.h>
#include <string.h>

static const struct line {
	const char *spelling, *operands, *types, *mods, *note;
} lines[] = {
#define X(op, spelling, operands, types, mods, kind, emit, note) {spelling, operands, types, mods, note},
#include "cpu/ptx/ptx.def"
#undef X
};

static const char *const sregs[] = {
#define X(name, spelling, type) spelling,
	PTX_SREGS(X)
#undef X
};

static const char head[] =
	"<!-- Made by `make docs/ptx.md` from src/cpu/ptx/ptx.def; do not edit. -->\n"
	"# The PTX that the CPU device runs\n\n"
	"The device runs all of PTX up to ISA 9.0, for `.target sm_50` to `sm_120`, written by NVRTC, nvcc,\n"
	"clang, or by hand.  The exceptions are what a row below calls *unsupported*, the last table, variables\n"
	"of type `.texref`, `.samplerref` and `.surfref`, and clusters.  The device refuses these when it\n"
	"loads a module or when a kernel of it is asked for, with the instruction and its line.  A guard\n"
	"(`@%p`) may stand before any instruction.  All results are the same with one lane or 32, and with\n"
	"one worker or many.\n\n"
	"The device reads PTX up to 9.5 and runs what 9.1 to 9.5 added to rows of these tables: conversions between\n"
	"pairs of halves and pairs of small floats, `.2pi` of `sin` and `cos`, volatile accesses to local memory, and\n"
	"`%locality_domain_id`.  It refuses everything else that is new, with its name and the version of the text:\n"
	"`.s2f6x2`, `.u8x4` and `.s8x4`, saturating sums of integers but `.s32`, `fabric`, and what has no row here.\n\n"
	"Of texts up to PTX 3.1 the device takes `mad.f32` without a rounding for `mad.rn.f32`, as ptxas does.\n\n"
	"*exact*: the result has the bits that the PTX ISA defines, for integers and for IEEE arithmetic in\n"
	"every direction of rounding.  Otherwise the table has the largest distance from the true value.\n"
	"The bits of a NaN are defined only where the ISA defines them.  Sums of floats by `atom` and `red`\n"
	"depend on the order in which threads come.\n\n"
	"In the modifiers, parts between `|` exclude each other, parts in brackets are optional, and `=`\n"
	"names the types that have the modifier.  `iN` is `uN` and `sN`.\n";

/* "?lo|hi=s32 @gs": groups, with dots; `@` are state spaces, "hint" is for caches. */
static void print_group(const char *group, size_t len)
{
	static const char *const spaces[][2] = {{"c", ".const"}, {"g", ".global"}, {"l", ".local"},
		{"p", ".param"}, {"s", ".shared"}};
	bool optional = *group == '?' || (*group == '@' && group[1] != '!');
	const char *at = group + (*group == '?');
	const char *end = group + len;
	const char *between = "";
	printf(optional ? " [" : " ");
	if (*at == '@') {
		for (size_t i = 0; i < countof(spaces); i++) {
			if (memchr(at, spaces[i][0][0], (size_t)(end - at))) {
				printf("%s%s", between, spaces[i][1]);
				between = "\\|";
			}
		}
	} else if (*at == '*') {
		printf("*any*");
	} else {
		while (at < end) {
			const char *stop = memchr(at, '|', (size_t)(end - at));
			stop = stop ? stop : end;
			bool hint = stop - at == 4 && !memcmp(at, "hint", 4);
			printf("%s.%.*s", between, hint ? 9 : (int)(stop - at),
				hint ? "L1::/L2::" : at);
			between = "\\|";
			at = stop + (stop < end);
		}
	}
	printf(optional ? "]" : "");
}

static void print_mods(const char *mods)
{
	while (*mods) {
		size_t len = strcspn(mods, " ");
		if (len > 0) {
			print_group(mods, len);
		}
		mods += len + (mods[len] == ' ');
	}
}

static void print_types(const char *types)
{
	printf(*types ? " ." : " ");
	for (; *types; types++) {
		if (*types == ' ') {
			printf(" .");
		} else if (*types == ',') {
			printf("; .");
		} else {
			putchar(*types);
		}
	}
}

/* What only the driver itself puts into a kernel. */
static bool is_internal(const char *spelling)
{
	return *spelling == '#';
}

static bool is_unsupported(const struct line *line)
{
	return !strcmp(line->note, "unsupported");
}

static void print_line(const struct line *line)
{
	printf("| `%s` |", line->spelling);
	print_mods(line->mods);
	printf(" |");
	if (is_unsupported(line)) {
		printf("\n");
		return;
	}
	print_types(line->types);
	printf(" | %s |\n", *line->note ? line->note : "exact");
}

int main(void)
{
	fputs(head, stdout);
	printf("\n## Instructions\n\n| instruction | modifiers | types | result |\n"
		"|---|---|---|---|\n");
	for (size_t i = 0; i < countof(lines); i++) {
		if (!is_unsupported(&lines[i]) && !is_internal(lines[i].spelling)) {
			print_line(&lines[i]);
		}
	}
	printf("\n## Special registers\n\n");
	for (size_t i = 0; i < countof(sregs); i++) {
		if (!is_internal(sregs[i])) {
			printf("%s`%s`", i ? ", " : "", sregs[i]);
		}
	}
	printf("\n\n## Refused\n\n| instruction | with |\n|---|---|\n");
	for (size_t i = 0; i < countof(lines); i++) {
		if (is_unsupported(&lines[i])) {
			print_line(&lines[i]);
		}
	}
	return 0;
}
