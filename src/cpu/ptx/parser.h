/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PARSER_H
#define CPU_PTX_PARSER_H

/*
 * What the files of parse.c share: the token at hand, names and their scopes,
 * growing lists.
 *
 * The one idea: a failure is kept in the parser and turns the rest of the text into its end.  So
 * no function here returns a success flag; loops stop at the end of the text, pointers may be NULL
 * only when p->failed, and the first failure is the one reported.
 */
#include "base/map.h"
#include "cpu/ptx/lex.h"
#include "cpu/ptx/parse.h"

enum ptx_symbol_kind {
	SYMBOL_REG,     /* index */
	SYMBOL_RANGE,   /* see struct parse_range: registers that exist once they are used */
	SYMBOL_SREG,    /* index */
	SYMBOL_VAR,     /* var */
	SYMBOL_FUNC,    /* func */
	SYMBOL_VECTOR,  /* targets: the registers of .reg .v4 V, or %tid.x to %tid.w */
	SYMBOL_LABEL,   /* index */
	SYMBOL_TARGETS, /* targets: of .branchtargets */
	SYMBOL_PROTO    /* func: of .callprototype; of .calltargets, the first one */
};

struct symbol {
	enum ptx_symbol_kind kind;
	int line;
	size_t at;      /* of a global one: where in the text */
	unsigned index;
	struct ptx_var *var;
	struct ptx_func *func;
	struct ptx_operand *targets;
};

/* .alias name, target; */
struct alias {
	const char *name;
	const char *target;
	int line;
};

/* %r<100> in a scope. */
struct parse_range {
	const struct parse_range *next;
	const char *name; /* "%r" */
	size_t len;
	uint64_t count;
	enum ptx_type type;
};

struct parse_scope {
	struct parse_scope *outer;
	struct parse_scope *previous; /* in the order of creation, to free them */
	struct map names;       /* -> struct symbol; "%r<" is the range of %r0, %r1, ... */
	const struct parse_range *ranges;
};

/* A growing array in ordinary memory, until list_keep copies it to the module. */
struct parse_list {
	void *data;
	size_t count;
	size_t cap;
};

/* A name that was used before it was known: a label, else a mistake. */
struct fixup {
	struct ptx_operand *operand;
	struct parse_scope *scope;
	bool is_branch;
	int line;
	int column;
};

/* A list of those .loc that have the same hash.  parse_debug.c */
struct parse_loc {
	struct ptx_loc loc;
	struct parse_loc *next;
};
enum { PARSE_LOCS = 64 };

struct parser {
	struct ptx_module *module;
	struct ptx_diag *diag;
	struct lexer lexer;
	struct lex_token token;
	int name_line;            /* where the name stands that symbol_add is given */
	int name_column;
	size_t name_at;
	bool failed;
	const char *text;
	bool defers;              /* see parse_declarations */
	struct ptx_func *kernel;  /* the one that parse_kernel reads, else NULL */
	size_t limit;             /* what is global and stands behind this is not known yet */
	struct parse_scope *global;
	struct parse_scope *scope;      /* the innermost open one */
	struct parse_scope *newest;
	struct map spares[2];     /* no names, but room for those of scopes to come */
	size_t spare_count;
	struct map opcodes;       /* text -> struct ptx_inst as ptx_opcode made it */
	struct parse_list vars, shared, funcs, files, sections, params, relocs, aliases;
	/* of the function at hand */
	struct ptx_func *func;
	struct parse_scope *func_scope;
	struct parse_list regs, func_vars, insts, labels, fixups;
	enum ptx_op op;           /* of the instruction at hand */
	const struct ptx_loc *loc;
	struct parse_loc *locs[PARSE_LOCS]; /* of the function, newest first, by place */
};

void parser_fail(struct parser *p, const char *format, ...) printf_like(2, 3);
/* A part of PTX that the driver does not know: a mistake, unless the text is of a version that may
 * have it. */
void parser_fail_unknown(struct parser *p, int line, int column, const char *message);
void parser_fail_at(struct parser *p, int line, int column, const char *format, ...)
	printf_like(4, 5);
void parser_unsupported(struct parser *p, const char *format, ...) printf_like(2, 3);
void parser_no_memory(struct parser *p);
void parser_free(struct parser *p); /* NULL is fine */

/* Tokens.  take_... go to the next one, and fail when the token at hand is not of that kind. */
void advance(struct parser *p);
static inline bool at(const struct parser *p, const char *text)
{
	return token_is(&p->token, text);
}
static inline bool at_end(const struct parser *p)
{
	return p->token.kind == TOKEN_END;
}
static inline bool at_directive(const struct parser *p) /* .something */
{
	return p->token.kind == TOKEN_WORD && p->token.text[0] == '.';
}
static inline bool accept(struct parser *p, const char *text)
{
	bool is = at(p, text);
	if (is) {
		advance(p);
	}
	return is;
}
void fail_expected(struct parser *p, const char *what);
void fail_expected_mark(struct parser *p, const char *text); /* what was expected in quotes */
static inline void expect(struct parser *p, const char *text)
{
	if (!accept(p, text)) {
		fail_expected_mark(p, text);
	}
}
char *take_name(struct parser *p);
uint64_t take_int(struct parser *p);
enum ptx_type take_type(struct parser *p);
void skip_past(struct parser *p, const char *end);

/* Memory of the module, cleared. */
void *parser_alloc(struct parser *p, size_t count, size_t size);
/* The new, cleared element, NULL if memory runs out. */
void *list_add(struct parser *p, struct parse_list *list, size_t size);
/* A copy of the list in the module; the list is empty afterwards. */
void *list_keep(struct parser *p, struct parse_list *list, size_t size, size_t *count);

void scope_enter(struct parser *p);
void scope_leave(struct parser *p);
/* Forget the names that were entered after `last`. */
void scope_free(struct parser *p, const struct parse_scope *last);
/* A new symbol; its name must be new in the scope. */
struct symbol *symbol_add(struct parser *p, struct parse_scope *scope, const char *name,
	enum ptx_symbol_kind kind);
/* What a name means in a scope and those around it, NULL if nothing. */
struct symbol *symbol_find(struct parser *p, struct parse_scope *scope, const char *name,
	size_t len);

/* parse_expr.c */
struct constant {
	bool is_real;
	bool is_unsigned;
	int64_t value;
	double real;
	uint64_t real_bits;  /* of 0f and 0d, or of the double */
	unsigned real_width; /* 32 or 64 for 0f and 0d alone */
};
bool at_constant(const struct parser *p);
void parse_constant(struct parser *p, struct constant *out);
/* After the sign in an address: integers, * / % at most. */
int64_t take_offset(struct parser *p);

/* parse_var.c: after the word for the state space up to the semicolon. */
void parse_variables(struct parser *p, enum ptx_space space, bool is_extern, bool is_visible);
/* ( .param ... , .param ... ): laid out one after the other, each at its own alignment. */
struct ptx_var **parse_params(struct parser *p, bool is_entry, size_t *count, size_t *size);

/* parse_reg.c: after .reg up to the semicolon. */
void parse_registers(struct parser *p);
/* .v2 .f32: how many of which type. */
enum ptx_type parse_register_type(struct parser *p, size_t *count);
/* V with V.x, which is V.r, too. */
void parse_vector_register(struct parser *p, const char *name, enum ptx_type type, size_t count);
/* A special register of four parts, such as %tid, as a vector. */
void add_special_vectors(struct parser *p);
/* Put down mov.v2 or mov.v4, whose operands are read, as moves of `count` single registers. */
enum { MAX_MOVED = 4 };
void add_vector_move(struct parser *p, const struct ptx_inst *inst, size_t count);

/* parse_body.c: from after the { to after the matching }. */
void parse_body(struct parser *p);
/* Inside of bodies and outside: .loc .file .pragma .section; false if it is none of these. */
bool parse_common(struct parser *p);

/* parse_debug.c: after .loc, .file and .section. */
void parse_loc(struct parser *p);
void parse_file(struct parser *p);
void parse_section(struct parser *p);

/* parse_operand.c: an operand; true if the next one is within the same brackets. */
bool parse_operand(struct parser *p, struct ptx_operand *out);
/* A register, variable, function, label, special register or vector of registers. */
void parse_name(struct parser *p, struct ptx_operand *out);
/* A name that is not known yet: a label further down, or a mistake.  Its place waits in reg and
 * reg2 for parse_body.c. */
void name_later(struct parser *p, struct ptx_operand *out, const struct lex_token *word);
/* The rest of { a, b }: operands up to `end`. */
void parse_vector(struct parser *p, struct ptx_operand *out, const char *end);

/* parse_call.c */
/* Bring the operands of a call, as written, into the order of ptx_inst.operands. */
void call_arrange(struct parser *p, struct ptx_inst *inst);
/* After .callprototype and .calltargets. */
struct ptx_func *parse_prototype(struct parser *p);
struct ptx_func *parse_call_targets(struct parser *p);

#endif
