/* SPDX-License-Identifier: MIT */
/*
 * Facts about a source text, found in one pass before anything compiles it.
 *
 * This is a lexer, not a parser.  It walks the tokens, skips comments, literals and directives, and
 * keeps just enough state to name a kernel: a stack of open braces that knows namespaces and
 * extern "C" blocks, and what the current declaration has shown so far (template, static,
 * extern "C", __global__).  The name of a kernel is the identifier before the parenthesis that no
 * other identifier follows, which passes over __launch_bounds__(256) and macros like it.
 *
 * A variable is what a declaration with __device__, __constant__ or __managed__ names before any
 * parenthesis.  Variables of a class that is defined there, and those within an #if, are passed
 * over.
 *
 * Macros and #if are not understood, except #if 0 and a #define whose text has __global__ in it.  A
 * wrong guess does no harm: compile.c drops the names that NVRTC does not know.
 *
 * Some facts must not be missed, and count wherever they stand, in comments and strings too: what
 * the text includes, and whether it has a word of the prelude.  So each time that the lexer moves
 * on, it looks for these in what it passes (scan_move).
 */
#include "base/common.h"

#include "lib/rtc/source_scan.h"

#include "base/alloc.h"
#include "base/map.h"
#include "base/str.h"
#include "lib/rtc/headers.h"

#include <ctype.h>
#include <string.h>

#define MAX_DEPTH 64
#define MAX_MACROS 8

enum scope_kind { SCOPE_NAMESPACE, SCOPE_EXTERN_C };

struct scope {
	enum scope_kind kind;
	const char *name; /* of a namespace: "A::B" as written; empty: unnamed */
	size_t len;
};

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_PUNCT };

struct token {
	enum token_kind kind;
	const char *text;
	size_t len;
};

/* A macro whose text contains __global__. */
struct macro {
	const char *name;
	size_t len;
	bool extern_c;
};

struct scanner {
	struct includes_text text;
	const char *at;
	struct token ahead; /* if is_ahead: a token that was given back */
	bool is_ahead;
	struct source_facts *facts;
	struct map kernels; /* that were found, by name: a declaration and its definition, or
	                       overloads, are one */
	struct scope scopes[MAX_DEPTH];
	int depth;        /* may go beyond MAX_DEPTH, where no kernel is found */
	struct macro macros[MAX_MACROS];
	int macro_count;
	bool open_comment;
	bool at_line_start;
	int conditions;   /* #if that are open */

	/* Braces, whatever they are of. */
	const char *open[MAX_DEPTH];
	size_t open_count;
	bool is_unbalanced;    /* there was a } too many */
	bool is_brace_unclear; /* before any such brace there was an #if, or too many were open */

	/* The declaration that is being read. */
	bool is_template;
	bool is_static;
	bool is_extern;
	bool extern_c;
	bool is_global;
	bool is_namespace;
	bool is_variable; /* so far */
	int tag_words;    /* of "struct S", until the next word can be a variable's name */
	bool is_member;   /* the last word came after a :: */
	const char *namespace_name;
	size_t namespace_len;
	struct token candidate; /* the identifier before the last closed parenthesis */
};

static bool source_token_is(const struct token *token, const char *text)
{
	return token->len == strlen(text) && memcmp(token->text, text, token->len) == 0;
}

/* The end of a comment. */
static const char *scan_comment_end(struct scanner *s, const char *at)
{
	const char *end = strstr(at + 2, "*/");
	s->open_comment |= !end;
	return end ? end + 2 : s->text.end;
}

static const char *scan_line_end(const char *at)
{
	return strchrnul(at, '\n');
}

/* The end of a directive: of its line, where a comment may go over several. */
static const char *scan_directive_end(struct scanner *s, const char *at)
{
	const char *end = scan_line_end(at);
	while (at < end && !(at[0] == '/' && at[1] == '/')) {
		bool is_comment = at[0] == '/' && at[1] == '*';
		at = is_comment ? scan_comment_end(s, at) : at + 1;
		end = at > end ? scan_line_end(at) : end;
	}
	return end;
}

static bool source_starts_word(const char *at, const char *word)
{
	size_t len = strlen(word);
	return strncmp(at, word, len) == 0 && !str_is_word(at[len]);
}

static const char *source_skip_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* After #if 0: go to the directive that ends it, which may be #else. */
static const char *source_skip_disabled(const char *at)
{
	int depth = 1;
	while (*at) {
		at = scan_line_end(at);
		at += *at == '\n';
		const char *word = source_skip_blanks(at);
		if (*word != '#') {
			continue;
		}
		word = source_skip_blanks(word + 1);
		if (strncmp(word, "if", 2) == 0) {
			depth++;
		} else if (source_starts_word(word, "endif")) {
			depth--;
		}
		if (depth == 0 || (depth == 1 && strncmp(word, "el", 2) == 0)) {
			return scan_line_end(at);
		}
	}
	return at;
}

static bool source_text_has(const char *text, const char *end, const char *what)
{
	return memmem(text, (size_t)(end - text), what, strlen(what));
}

/* Remember a macro that stands for __global__. */
static void source_note_macro(struct scanner *s, const char *at, const char *end)
{
	const char *name = source_skip_blanks(at);
	size_t len = 0;
	while (str_is_word(name[len])) {
		len++;
	}
	if (s->macro_count < MAX_MACROS && name[len] != '(' && source_text_has(name, end,
		"__global__")) {
		s->macros[s->macro_count++] = (struct macro){
			.name = name,
			.len = len,
			.extern_c = source_text_has(name, end, "\"C\""),
		};
	}
}

/* Read a directive, and return its end. */
static const char *scan_directive(struct scanner *s, const char *at)
{
	const char *word = source_skip_blanks(at + 1);
	const char *end = scan_directive_end(s, word);
	if (source_starts_word(word, "if") && *source_skip_blanks(word + 2) == '0'
	    && !str_is_word(source_skip_blanks(word + 2)[1])) {
		end = source_skip_disabled(word);
	} else if (source_starts_word(word, "define")) {
		source_note_macro(s, word + 6, end);
	} else if (strncmp(word, "if", 2) == 0) {
		s->conditions++;
	} else if (source_starts_word(word, "endif") && s->conditions > 0) {
		s->conditions--; /* the #else of an #if 0 is not counted */
	}
	return end;
}

/* Skip white space, comments and directives. */
static const char *scan_skip_space(struct scanner *s, const char *at)
{
	for (;;) {
		if (at[0] == '/' && at[1] == '/') {
			at = scan_line_end(at);
		} else if (at[0] == '/' && at[1] == '*') {
			at = scan_comment_end(s, at);
		} else if (*at == '#' && s->at_line_start) {
			at = scan_directive(s, at);
		} else if (isspace((unsigned char)*at) || *at == '\\') {
			s->at_line_start |= *at == '\n';
			at++;
		} else {
			return at;
		}
	}
}

static const char *source_quoted_end(const char *at)
{
	char quote = *at++;
	while (*at && *at != quote && *at != '\n') {
		at += *at == '\\' && at[1] ? 2 : 1;
	}
	return *at == quote ? at + 1 : at;
}

/* R"tag(...)tag", at the quote. */
static const char *source_raw_end(const char *at)
{
	size_t len = strcspn(at + 1, "(");
	char close[20] = ")";
	if (len > 16 || at[1 + len] != '(') {
		return source_quoted_end(at);
	}
	memcpy(close + 1, at + 1, len);
	close[1 + len] = '"';
	const char *end = strstr(at, close);
	return end ? end + len + 2 : at + strlen(at);
}

/* Move on, and look at the words that go by. */
static void scan_move(struct scanner *s, const char *to)
{
	struct source_facts *facts = s->facts;
	includes_scan_part(&s->text, s->at, to);
	facts->has_prelude_word = facts->has_prelude_word || headers_has_prelude_word(s->at, to);
	s->at = to;
}

/* Count a brace; find the one without its counterpart. */
static void scan_count_brace(struct scanner *s, const struct token *token)
{
	struct source_facts *facts = s->facts;
	if (s->is_unbalanced) {
		return;
	}
	s->is_brace_unclear |= s->conditions != 0;
	if (token->kind == TOKEN_PUNCT && *token->text == '{') {
		if (s->open_count < MAX_DEPTH) {
			s->open[s->open_count] = token->text;
		}
		s->open_count++;
		s->is_brace_unclear |= s->open_count == MAX_DEPTH;
	} else if (token->kind == TOKEN_PUNCT && *token->text == '}') {
		s->is_unbalanced = s->open_count == 0;
		s->open_count -= !s->is_unbalanced;
	}
	if (s->is_brace_unclear) {
		return;
	}
	if (s->is_unbalanced) {
		facts->brace = SOURCE_BRACE_CLOSES;
		facts->brace_at = (size_t)(token->text - s->text.begin);
	} else if (token->kind == TOKEN_END && s->open_count > 0) {
		facts->brace = SOURCE_BRACE_OPENS;
		facts->brace_at = (size_t)(s->open[s->open_count - 1] - s->text.begin);
	}
}

static struct token scan_next(struct scanner *s)
{
	if (s->is_ahead) {
		s->is_ahead = false;
		return s->ahead;
	}
	struct token token = {TOKEN_PUNCT, scan_skip_space(s, s->at), 1};
	const char *end = token.text + 1;
	s->at_line_start = false;
	if (!*token.text) {
		token.kind = TOKEN_END;
		end = token.text;
	} else if (str_is_word(*token.text)) {
		token.kind = TOKEN_WORD;
		/* 1'000 is one number. */
		bool digits = isdigit((unsigned char)*token.text);
		while (str_is_word(*end) || (digits && end[0] == '\'' && str_is_word(end[1]))) {
			end++;
		}
		if (*end == '"' && end[-1] == 'R') {
			token.kind = TOKEN_STRING;
			end = source_raw_end(end);
		}
	} else if (*token.text == '"' || *token.text == '\'') {
		token.kind = TOKEN_STRING;
		end = source_quoted_end(token.text);
	} else if (token.text[0] == ':' && token.text[1] == ':') {
		end++;
	}
	token.len = (size_t)(end - token.text);
	scan_move(s, end);
	scan_count_brace(s, &token);
	return token;
}

/* Let scan_next return a token once more. */
static void source_give_back(struct scanner *s, struct token token)
{
	s->ahead = token;
	s->is_ahead = true;
}

static void source_reset_declaration(struct scanner *s)
{
	s->is_template = s->is_static = s->is_extern = s->extern_c = false;
	s->is_global = s->is_namespace = s->is_variable = false;
	s->tag_words = 0;
	s->namespace_len = 0;
	s->namespace_name = "";
	s->candidate.len = 0;
}

static void source_push_scope(struct scanner *s)
{
	struct scope scope = {SCOPE_EXTERN_C, "", 0};
	if (s->is_namespace) {
		scope = (struct scope){SCOPE_NAMESPACE, s->namespace_name, s->namespace_len};
	}
	if (s->depth < MAX_DEPTH) {
		s->scopes[s->depth] = scope;
	}
	s->depth++;
}

/* A name with its namespaces; NULL when memory runs out. */
static char *source_qualified_name(const struct scanner *s, const struct token *name)
{
	struct str text = STR_INIT;
	for (int i = 0; i < s->depth; i++) {
		const struct scope *scope = &s->scopes[i];
		if (scope->kind == SCOPE_NAMESPACE && scope->len > 0) {
			str_addn(&text, scope->name, scope->len);
			str_add(&text, "::");
		}
	}
	str_addn(&text, name->text, name->len);
	return str_take(&text);
}

/* The name of a kernel.  Takes what the scopes say over. */
static char *source_kernel_name(const struct scanner *s, struct source_kernel *kernel)
{
	for (int i = 0; i < s->depth; i++) {
		const struct scope *scope = &s->scopes[i];
		kernel->extern_c |= scope->kind == SCOPE_EXTERN_C;
		kernel->internal |= scope->kind == SCOPE_NAMESPACE && scope->len == 0;
	}
	return source_qualified_name(s, &s->candidate);
}

static bool source_add_kernel(struct scanner *s)
{
	if (s->depth > MAX_DEPTH) {
		return true;
	}
	struct source_kernel kernel = {
		.extern_c = s->extern_c,
		.internal = s->is_static,
		.is_template = s->is_template,
	};
	kernel.name = source_kernel_name(s, &kernel);
	if (!kernel.name) {
		return false;
	}
	kernel.extern_c = kernel.extern_c && !kernel.is_template;
	if (map_get(&s->kernels, kernel.name)) {
		mem_free(kernel.name);
		return true;
	}
	struct source_kernel *grown = mem_realloc(s->facts->kernels,
		(s->facts->kernel_count + 1) * sizeof(*grown));
	s->facts->kernels = grown ? grown : s->facts->kernels;
	if (!grown || !map_put(&s->kernels, kernel.name, kernel.name)) {
		mem_free(kernel.name);
		return false;
	}
	grown[s->facts->kernel_count++] = kernel;
	return true;
}

static bool source_is_space_word(const struct token *word)
{
	return source_token_is(word, "__device__") || source_token_is(word, "__constant__")
	       || source_token_is(word, "__managed__");
}

/* The end of a declarator: a name before it is that of a variable, if it can be one. */
static bool source_take_declarator(struct scanner *s, const struct token *last, char end)
{
	bool named = s->is_variable && last->kind == TOKEN_WORD && !s->is_member
		     && s->tag_words == 0 && !source_is_space_word(last); /* of a lambda */
	s->is_variable = s->is_variable && end == ',';
	if (!named || s->is_template || s->depth > MAX_DEPTH || s->conditions != 0) {
		return true;
	}
	char *name = source_qualified_name(s, last);
	char **grown = name ? mem_realloc(s->facts->variables,
		(s->facts->variable_count + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		mem_free(name);
		return false;
	}
	s->facts->variables = grown;
	grown[s->facts->variable_count++] = name;
	return true;
}

/* Take what is between parentheses or angle brackets, the opening one read. */
static void source_skip_nested(struct scanner *s, char open, char close)
{
	for (int depth = 1; depth > 0;) {
		struct token token = scan_next(s);
		if (token.kind == TOKEN_END) {
			return;
		}
		if (token.kind != TOKEN_PUNCT) {
			continue;
		}
		if (*token.text == '{' || *token.text == ';' || *token.text == '}') {
			source_give_back(s, token);
			return;
		}
		if (*token.text == '(' && open != '(') {
			source_skip_nested(s, '(', ')');
		}
		depth += (*token.text == open) - (*token.text == close);
	}
}

static void source_take_namespace(struct scanner *s)
{
	s->is_namespace = true;
	for (;;) {
		struct token token = scan_next(s);
		bool part = token.kind == TOKEN_WORD || source_token_is(&token, "::");
		if (!part) {
			source_give_back(s, token);
			return;
		}
		if (s->namespace_len == 0) {
			s->namespace_name = token.text;
		}
		s->namespace_len = (size_t)(token.text + token.len - s->namespace_name);
	}
}

/* A word after which a brace or the next name is of a type. */
static bool source_is_class_word(const struct token *word)
{
	return source_token_is(word, "struct") || source_token_is(word, "class")
		|| source_token_is(word, "union")
	       || source_token_is(word, "enum");
}

static void source_take_word(struct scanner *s, const struct token *word, struct token *last)
{
	s->is_member = source_token_is(last, "::");
	s->tag_words -= s->tag_words > 0 && !s->is_member;
	*last = *word;
	if (source_token_is(word, "__global__")) {
		s->is_global = true;
	} else if (source_token_is(word, "template")) {
		s->is_template = true;
		struct token next = scan_next(s);
		if (source_token_is(&next, "<")) {
			source_skip_nested(s, '<', '>');
		} else {
			source_give_back(s, next);
		}
	} else if (source_token_is(word, "static")) {
		s->is_static = true;
	} else if (source_token_is(word, "extern")) {
		s->is_extern = true;
	} else if (source_token_is(word, "namespace")) {
		source_take_namespace(s);
	} else if (source_is_space_word(word)) {
		s->is_variable = true;
	} else if (source_is_class_word(word)) {
		s->tag_words = 2;
	} else if (source_token_is(word, "using") || source_token_is(word, "typedef")) {
		s->is_variable = false;
	}
	for (int i = 0; i < s->macro_count; i++) {
		if (word->len == s->macros[i].len
		    && memcmp(word->text, s->macros[i].name, word->len) == 0) {
			s->is_global = true;
			s->extern_c |= s->macros[i].extern_c;
		}
	}
}

/* An open parenthesis after an identifier: a kernel's parameters, unless another name follows. */
static void source_take_parenthesis(struct scanner *s, const struct token *last)
{
	source_skip_nested(s, '(', ')');
	s->is_variable = false;
	if (s->is_global && last->kind == TOKEN_WORD) {
		s->candidate = *last;
	}
}

/* Skip a body: nothing in a function or a class is a kernel of ours. */
static void source_skip_body(struct scanner *s)
{
	for (int depth = 1; depth > 0;) {
		struct token token = scan_next(s);
		if (token.kind == TOKEN_END) {
			s->depth += depth;
			return;
		}
		if (token.kind == TOKEN_PUNCT) {
			depth += (*token.text == '{') - (*token.text == '}');
		}
	}
}

/* An open brace: of a namespace or extern "C" block, or of something that has a body. */
static bool source_take_brace(struct scanner *s, const struct token *last)
{
	bool ok = true;
	if (s->is_global && s->candidate.len > 0) {
		ok = source_add_kernel(s);
	}
	if (s->is_namespace || (s->extern_c && last->kind == TOKEN_STRING)) {
		source_push_scope(s);
	} else {
		source_skip_body(s);
	}
	return ok;
}

static bool scan_tokens(struct scanner *s)
{
	struct token last = {TOKEN_PUNCT, "", 0};
	source_reset_declaration(s);
	for (bool ok = true; ok;) {
		struct token token = scan_next(s);
		switch (token.kind) {
		case TOKEN_END:
			return true;
		case TOKEN_WORD:
			source_take_word(s, &token, &last);
			continue;
		case TOKEN_STRING:
			s->extern_c |= s->is_extern && source_token_is(&token, "\"C\"");
			break;
		case TOKEN_PUNCT:
			if (strchr("[={;,", *token.text)) {
				ok = source_take_declarator(s, &last, *token.text);
			}
			if (*token.text == '(') {
				source_take_parenthesis(s, &last);
			} else if (*token.text == '<' && s->is_variable) {
				source_skip_nested(s, '<', '>');
			} else if (strchr("-]:", *token.text) && token.len == 1) {
				s->is_variable = false; /* a lambda, a base of a class */
			} else if (*token.text == '{') {
				ok = ok && source_take_brace(s, &last);
				source_reset_declaration(s);
			} else if (*token.text == ';' || *token.text == '}') {
				ok = ok && (!s->is_global || !s->candidate.len
					|| source_add_kernel(s));
				s->depth -= *token.text == '}';
				source_reset_declaration(s);
			}
			break;
		}
		last = token;
		if (s->depth < 0) {
			return true;
		}
	}
	return false;
}

/* Read the declarations, then the rest after a brace that closes nothing. */
static bool scan_text(struct scanner *s)
{
	bool ok = scan_tokens(s);
	while (ok && scan_next(s).kind != TOKEN_END) {
	}
	map_free(&s->kernels);
	s->facts->is_complete = s->open_count == 0 && !s->is_unbalanced && !s->open_comment;
	return ok && !s->facts->includes.names.failed;
}

bool source_scan(struct source_facts *out, const char *source)
{
	char *joined;
	size_t size = strlen(source), joined_size;
	*out = (struct source_facts){.includes.names = STR_INIT};
	if (!includes_join_lines(&joined, &joined_size, source, size)) {
		return false;
	}
	const char *text = joined ? joined : source;
	struct scanner s = {
		.text = {&out->includes, text, text + joined_size},
		.at = text,
		.facts = out,
		.at_line_start = true,
	};
	bool ok = scan_text(&s);
	if (joined && out->brace != SOURCE_BRACES_MATCH) {
		out->brace_at = includes_place_before_joining(source, size, out->brace_at);
	}
	mem_free(joined);
	if (!ok) {
		source_free(out);
	}
	return ok;
}

void source_free(struct source_facts *facts)
{
	for (size_t i = 0; i < facts->kernel_count; i++) {
		mem_free(facts->kernels[i].name);
	}
	for (size_t i = 0; i < facts->variable_count; i++) {
		mem_free(facts->variables[i]);
	}
	mem_free(facts->variables);
	mem_free(facts->kernels);
	includes_free(&facts->includes);
	*facts = (struct source_facts){.includes.names = STR_INIT};
}
