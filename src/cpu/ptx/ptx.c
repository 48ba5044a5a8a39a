/* SPDX-License-Identifier: MIT */
/*
 * Types, diagnostics, and opcodes.  An opcode is cut at its dots, and its parts are matched against
 * the rows of ptx.def in order.  The first row that takes all parts wins.  If no row does, the
 * message is that of the row that matched furthest.
 */
#include "base/common.h"

#include "cpu/ptx/ptx.h"

#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t bits;
	char class;
	bool is_stored;
} types[PTX_TYPE_COUNT] = {
#define X(name, spelling, bits, class, is_stored) {spelling, bits, class, is_stored},
	PTX_TYPES(X)
#undef X
};

static const char *const mod_names[PTX_MOD_COUNT] = {
#define X(name, spelling) spelling,
	PTX_MODS(X)
#undef X
};

const struct ptx_row ptx_rows[PTX_OP_COUNT] = {
#define X(op, spelling, operands, types, mods, kind, emit, note) \
	{spelling, operands, types, mods, note[0] == 'u' ? &note[sizeof("unsupported") - 1] : "", \
		PTX_KIND_##kind, note[0] == 'u'},
#include "cpu/ptx/ptx.def"
#undef X
};

static const struct {
	const char *name;
	enum ptx_space space;
} spaces[] = {
	{"const", PTX_CONST},           {"global", PTX_GLOBAL},       {"local", PTX_LOCAL},
	{"param", PTX_PARAM},           {"param::entry", PTX_PARAM},  {"param::func", PTX_PARAM},
	{"shared", PTX_SHARED},         {"shared::cta", PTX_SHARED},
};

const char *ptx_type_name(enum ptx_type type)
{
	return types[type].name;
}

unsigned ptx_type_bits(enum ptx_type type)
{
	return types[type].bits;
}

unsigned ptx_type_size(enum ptx_type type)
{
	return (types[type].bits + 7u) / 8;
}

enum ptx_type ptx_widen(enum ptx_type type)
{
	switch (type) {
	case PTX_U16:
		return PTX_U32;
	case PTX_S16:
		return PTX_S32;
	case PTX_U32:
		return PTX_U64;
	default:
		return PTX_S64;
	}
}

char ptx_type_class(enum ptx_type type)
{
	return types[type].class;
}

bool ptx_type_is_stored(enum ptx_type type)
{
	return types[type].is_stored;
}

enum ptx_runtime ptx_runtime_find(const struct ptx_func *func)
{
	static const char *const names[] = {
#define X(name, spelling, sizes) spelling,
		PTX_RUNTIME(X)
#undef X
	};
	unsigned i = 0;
	while (i < countof(names) && (!func->is_extern || strcmp(func->name, names[i]) != 0)) {
		i++;
	}
	return (enum ptx_runtime)i;
}

static bool ptx_diag_fill(struct ptx_diag *diag, int line, int column, bool unsupported,
	const char *format, va_list args)
{
	*diag = (struct ptx_diag){.line = line, .column = column, .unsupported = unsupported};
	str_formatv(diag->message, sizeof(diag->message), format, args);
	return false;
}

bool ptx_fail(struct ptx_diag *diag, int line, int column, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	ptx_diag_fill(diag, line, column, false, format, args);
	va_end(args);
	return false;
}

bool ptx_unsupported(struct ptx_diag *diag, int line, int column, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	ptx_diag_fill(diag, line, column, true, format, args);
	va_end(args);
	return false;
}

/* A piece of text that someone else owns. */
struct op_slice {
	const char *text;
	size_t len;
};

static bool ptx_slice_is(struct op_slice s, const char *text)
{
	return s.text && (s.len == 0 || s.text[0] == text[0]) /* for most differ there */
		&& strlen(text) == s.len && memcmp(s.text, text, s.len) == 0;
}

static bool ptx_slice_equal(struct op_slice a, struct op_slice b)
{
	return a.text && b.text && a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

static bool ptx_slice_starts(struct op_slice s, const char *prefix)
{
	size_t len = strlen(prefix);
	return s.len >= len && memcmp(s.text, prefix, len) == 0;
}

/* Take the text up to the next separator off the front of *rest. */
static bool ptx_slice_next(struct op_slice *out, struct op_slice *rest, char separator)
{
	if (!rest->text) {
		return false;
	}
	const char *end = memchr(rest->text, separator, rest->len);
	*out = (struct op_slice){rest->text, end ? (size_t)(end - rest->text) : rest->len};
	*rest = end ? (struct op_slice){end + 1, rest->len - out->len - 1}
		: (struct op_slice){NULL, 0};
	return true;
}

static struct op_slice ptx_slice_of(const char *text)
{
	return *text ? (struct op_slice){text, strlen(text)} : (struct op_slice){NULL, 0};
}

enum ptx_type ptx_type_find(const char *text, size_t len)
{
	for (int i = PTX_PRED; i < PTX_TYPE_COUNT; i++) {
		if (ptx_slice_is((struct op_slice){text, len}, types[i].name)) {
			return (enum ptx_type)i;
		}
	}
	return PTX_NONE;
}

/* Whether a list such as "i32 f32" has a type; iN is uN and sN. */
static bool ptx_list_has(struct op_slice list, char separator, enum ptx_type type)
{
	struct op_slice name = ptx_slice_of(types[type].name);
	bool integer = name.text && (types[type].class == 'u' || types[type].class == 's');
	struct op_slice word;
	while (ptx_slice_next(&word, &list, separator)) {
		if (ptx_slice_is(word, "*") || ptx_slice_equal(word, name)) {
			return true;
		}
		if (integer && word.len == name.len && word.text[0] == 'i'
		    && memcmp(word.text + 1, name.text + 1, name.len - 1) == 0) {
			return true;
		}
	}
	return false;
}

enum { MAX_PARTS = 24, MAX_GROUPS = 16 };

/* An opcode being matched against one row. */
struct match {
	const struct ptx_row *row;
	struct op_slice parts[MAX_PARTS];
	size_t count;
	struct op_slice used[MAX_GROUPS]; /* the part that each group of the row got */
	struct ptx_inst inst;
	enum ptx_type last;            /* the last type: what modifiers are limited to */
	int reached;                   /* how far a failed match came */
	char why[160];
};

/* How far: the parts are not types of the row; not modifiers of it; something is missing. */
enum { REACHED_NOTHING, REACHED_TYPES, REACHED_MODS, REACHED_ALL };

static bool ptx_match_fail(struct match *m, int reached, const char *format, ...) printf_like(3, 4);

static bool ptx_match_fail(struct match *m, int reached, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(m->why, sizeof(m->why), format, args);
	va_end(args);
	m->reached = reached;
	return false;
}

static bool ptx_match_types(struct match *m)
{
	struct op_slice wanted = ptx_slice_of(m->row->types), list = wanted;
	bool any = ptx_slice_is(wanted, "*");
	size_t count = 0;
	for (size_t i = 0; i < m->count; i++) {
		enum ptx_type type = ptx_type_find(m->parts[i].text, m->parts[i].len);
		if (!type) {
			continue;
		}
		if (!any
			&& (!ptx_slice_next(&list, &wanted, ',')
				|| !ptx_list_has(list, ' ', type))) {
			return ptx_match_fail(m, REACHED_NOTHING, "cannot have type '.%s' here",
				types[type].name);
		}
		m->last = type;
		if (count < countof(m->inst.types)) {
			m->inst.types[count++] = type;
		}
	}
	if (!any && wanted.text) {
		return ptx_match_fail(m, REACHED_NOTHING, "needs %s type", count ? "another" : "a");
	}
	return true;
}

/* A state space, if the row has any: "@" or "@!" and the first letters of those it takes. */
static bool ptx_match_space(struct match *m, struct op_slice part, struct op_slice group,
	bool *found)
{
	for (size_t i = 0; i < countof(spaces) && group.text[0] == '@'; i++) {
		if (ptx_slice_is(part, spaces[i].name)
		    && memchr(group.text, part.text[0], group.len)) {
			m->inst.space = spaces[i].space;
			return *found = true;
		}
	}
	return *found = false;
}

/* One part against one group of alternatives; *found says whether it is one of them. */
static bool ptx_match_group(struct match *m, struct op_slice part, struct op_slice group,
	size_t index, bool *found)
{
	struct op_slice alternative, name;
	bool hint = (ptx_slice_starts(part, "L1::") || ptx_slice_starts(part, "L2::"))
		&& !ptx_slice_is(part, "L2::cache_hint");
	*found = false;
	if (group.text[0] == '?') {
		group = (struct op_slice){group.text + 1, group.len - 1};
	}
	while (!*found && ptx_slice_next(&alternative, &group, '|')) {
		ptx_slice_next(&name, &alternative, '=');
		*found = ptx_slice_equal(name, part) || (hint && ptx_slice_is(name, "hint"));
	}
	if (!*found) {
		return true;
	}
	if (alternative.text && !ptx_list_has(alternative, '/', m->last)) {
		return ptx_match_fail(m, REACHED_TYPES, "cannot have '.%.*s' with type '.%s'",
			(int)part.len, part.text, types[m->last].name);
	}
	if (m->used[index].text && !hint) {
		return ptx_match_fail(m, REACHED_TYPES, "cannot have both '.%.*s' and '.%.*s'",
			(int)m->used[index].len, m->used[index].text, (int)part.len, part.text);
	}
	m->used[index] = part;
	return true;
}

static void ptx_match_keep(struct match *m, struct op_slice part)
{
	for (int i = 0; i < PTX_MOD_COUNT; i++) {
		if (ptx_slice_is(part, mod_names[i])) {
			m->inst.mods.bits[i / 64] |= (uint64_t)1 << (i % 64);
		}
	}
}

static bool ptx_match_part(struct match *m, struct op_slice part)
{
	struct op_slice rest = ptx_slice_of(m->row->mods), group;
	bool failed = false;
	for (size_t i = 0; ptx_slice_next(&group, &rest, ' '); i++) {
		assert(i < MAX_GROUPS);
		bool found = ptx_slice_is(group, "*");
		if (found) {
			return true;
		}
		if (group.text[0] == '@') {
			if (ptx_match_space(m, part, group, &found)) {
				m->used[i] = part;
				return true;
			}
		} else if (!ptx_match_group(m, part, group, i, &found)) {
			/* of two groups with the same words the second one may be free */
			failed = true;
			continue;
		}
		if (found) {
			ptx_match_keep(m, part);
			return true;
		}
	}
	return !failed && ptx_match_fail(m, REACHED_TYPES, "cannot have '.%.*s'", (int)part.len,
		part.text);
}

/* "needs '.rn', '.rz' or '.rm'": what of a group the type allows. */
static bool ptx_match_missing(struct match *m, struct op_slice group)
{
	struct op_slice alternative, name;
	char names[sizeof(m->why) - 8] = "";
	size_t len = 0;
	while (ptx_slice_next(&alternative, &group, '|') && len < sizeof(names) - 1) {
		ptx_slice_next(&name, &alternative, '=');
		if (!alternative.text || ptx_list_has(alternative, '/', m->last)) {
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s.%.*s",
				len ? " or " : "", (int)name.len, name.text);
		}
	}
	return ptx_match_fail(m, REACHED_MODS, "needs %s", names);
}

static bool ptx_match_complete(struct match *m)
{
	struct op_slice rest = ptx_slice_of(m->row->mods), group;
	for (size_t i = 0; ptx_slice_next(&group, &rest, ' '); i++) {
		bool optional = group.text[0] == '?' || group.text[0] == '*'
			|| (group.text[0] == '@' && group.text[1] != '!');
		if (optional || m->used[i].text) {
			continue;
		}
		if (group.text[0] == '@') {
			return ptx_match_fail(m, REACHED_MODS, "needs a state space");
		}
		return ptx_match_missing(m, group);
	}
	return true;
}

static bool ptx_match_row(struct match *m, const struct ptx_row *row)
{
	m->row = row;
	m->last = PTX_NONE;
	memset(m->used, 0, sizeof(m->used));
	m->inst = (struct ptx_inst){.op = (enum ptx_op)(row - ptx_rows)};
	if (!ptx_match_types(m)) {
		return false;
	}
	for (size_t i = 0; i < m->count; i++) {
		if (!ptx_type_find(m->parts[i].text, m->parts[i].len)
		    && !ptx_match_part(m, m->parts[i])) {
			return false;
		}
	}
	return ptx_match_complete(m);
}

bool ptx_opcode(struct ptx_inst *out, const char *text, struct ptx_diag *diag, int line,
	int column)
{
	struct match m = {.count = 0};
	struct op_slice rest = ptx_slice_of(text), base;
	if (!ptx_slice_next(&base, &rest, '.')) {
		return ptx_fail(diag, line, column, "expected an instruction");
	}
	for (; ptx_slice_next(&m.parts[m.count], &rest, '.'); m.count++) {
		if (m.count == MAX_PARTS - 1) {
			return ptx_fail(diag, line, column, "too many parts in '%.60s...'", text);
		}
	}
	int best = -1;
	char why[sizeof(m.why)] = "";
	for (size_t i = 0; i < PTX_OP_COUNT; i++) {
		if (!ptx_slice_is(base, ptx_rows[i].spelling)) {
			continue;
		}
		if (ptx_match_row(&m, &ptx_rows[i])) {
			out->op = m.inst.op;
			out->text = text;
			memcpy(out->types, m.inst.types, sizeof(out->types));
			out->mods = m.inst.mods;
			out->space = m.inst.space;
			return true;
		}
		if (m.reached > best && !ptx_rows[i].unsupported) {
			best = m.reached;
			memcpy(why, m.why, sizeof(why));
		}
	}
	if (best < 0) {
		return ptx_fail(diag, line, column, "unknown instruction '%.80s'", text);
	}
	return ptx_fail(diag, line, column, "'%.80s' %s", text, why);
}

bool ptx_select_fits(const char *select, unsigned parts, bool written)
{
	static const struct {
		size_t least, most; /* digits */
		unsigned parts;
		bool written;
		char unit, highest;
	} forms[] = {
		{1, 1, 1, false, 'b', '3'}, {1, 1, 1, false, 'h', '1'}, {1, 1, 1, true, 'b', '3'},
		{1, 1, 1, true, 'h', '1'}, {2, 2, 2, false, 'h', '3'}, {1, 2, 2, true, 'h', '1'},
		{4, 4, 4, false, 'b', '7'}, {1, 4, 4, true, 'b', '3'},
	};
	bool fits = !*select;
	for (size_t i = 0; !fits && i < countof(forms); i++) {
		size_t digits = strlen(select) - 1;
		fits = forms[i].parts == parts && forms[i].written == written
			&& forms[i].unit == *select && digits >= forms[i].least
			&& digits <= forms[i].most;
		for (size_t j = 1; j <= digits; j++) {
			/* what is written is counted down: b310 */
			fits &= select[j] >= '0' && select[j] <= forms[i].highest
				&& !(written && j > 1 && select[j] >= select[j - 1]);
		}
	}
	return fits;
}

bool ptx_names(const struct ptx_inst *inst, const char *part)
{
	struct op_slice rest = ptx_slice_of(inst->text), word;
	while (ptx_slice_next(&word, &rest, '.')) {
		if (ptx_slice_is(word, part)) {
			return true;
		}
	}
	return false;
}

const struct ptx_geometry ptx_geometries[] = {
	{"1d", 1, 1, false},  {"2d", 2, 2, false},  {"3d", 3, 3, false}, {"a1d", 2, 1, true},
	{"a2d", 3, 2, true},  {"cube", 3, 3, false}, {"acube", 4, 3, true},
};

size_t ptx_geometry_of(const struct ptx_inst *inst)
{
	size_t i = 0;
	while (i + 1 < countof(ptx_geometries) && !ptx_names(inst, ptx_geometries[i].part)) {
		i++;
	}
	return i;
}

bool ptx_reads_memory(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_LD && (inst->space == PTX_GLOBAL || inst->space == PTX_GENERIC);
}

static bool ptx_stores(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_ST;
}

static bool ptx_has_few(const struct ptx_func *func, bool (*is)(const struct ptx_inst *inst),
	unsigned most)
{
	unsigned count = 0;
	for (size_t i = 0; i < func->inst_count && count <= most; i++) {
		count += is(&func->insts[i]);
	}
	return count <= most;
}

bool ptx_reads_few(const struct ptx_func *func, unsigned most)
{
	return ptx_has_few(func, ptx_reads_memory, most);
}

bool ptx_writes_few(const struct ptx_func *func, unsigned most)
{
	return ptx_has_few(func, ptx_stores, most);
}

const struct ptx_section *ptx_section_find(const struct ptx_module *module, const char *name)
{
	size_t i = 0;
	while (i < module->section_count && strcmp(module->sections[i].name, name) != 0) {
		i++;
	}
	return i < module->section_count ? &module->sections[i] : NULL;
}

const char *ptx_loc_function(const struct ptx_module *module, const struct ptx_loc *loc)
{
	const struct ptx_section *names = ptx_section_find(module, ".debug_str");
	size_t i = 0;
	while (names && loc->function && i < names->mark_count
	    && strcmp(names->marks[i].name, loc->function) != 0) {
		i++;
	}
	if (!names || !loc->function || i == names->mark_count) {
		return NULL;
	}
	size_t at = names->marks[i].offset + loc->addend;
	return at < names->size && memchr(names->bytes + at, '\0', names->size - at)
		? (const char *)names->bytes + at : NULL;
}

uint32_t ptx_access_size(const struct ptx_inst *inst)
{
	uint32_t size = 0;
	for (size_t i = 0; i < countof(inst->types) && inst->types[i] != PTX_NONE; i++) {
		size = ptx_type_size(inst->types[i]);
	}
	return size * (ptx_has(&inst->mods, PTX_MOD_V8) ? 8 : ptx_has(&inst->mods, PTX_MOD_V4) ? 4
		: ptx_has(&inst->mods, PTX_MOD_V2) ? 2 : 1);
}
