/* SPDX-License-Identifier: MIT */
/*
 * The symbols of an image that others can see.
 *
 * In PTX a name is strong if it is .visible and defined, weak if it is .weak or .common, and
 * undefined if it is .extern.  In a cubin the symbol table says so.  LTO code does not tell.
 */
#include "base/common.h"

#include "base/elf.h"
#include "lib/rtc/parts.h"
#include "lib/rtc/ptx_text.h"

#include <string.h>

/* A directive at the level of the module, as far as it has been read. */
struct directive {
	enum symbol_kind linkage;
	bool is_shared_by_all; /* it has a linkage */
	bool is_variable;
	struct ptx_token name;
};

static const char *symbols_skip_list(const char *at)
{
	for (int depth = 1; depth > 0 && *at;) {
		struct ptx_token token = ptx_next_token(&at);
		depth += ptx_token_is(&token, "(") ? 1 : ptx_token_is(&token, ")") ? -1 : 0;
	}
	return at;
}

static bool symbols_read_linkage(struct directive *directive, const struct ptx_token *token)
{
	static const struct {
		const char *word;
		enum symbol_kind kind;
	} words[] = {
		{".visible", SYMBOL_STRONG}, {".weak", SYMBOL_WEAK},
		{".common", SYMBOL_WEAK}, {".extern", SYMBOL_UNDEFINED},
	};
	for (size_t i = 0; i < countof(words); i++) {
		if (ptx_token_is(token, words[i].word)) {
			directive->linkage = words[i].kind;
			directive->is_shared_by_all = true;
			return true;
		}
	}
	return false;
}

/* A word of a directive. */
static void symbols_read_word(struct directive *directive, const struct ptx_token *token)
{
	if (symbols_read_linkage(directive, token)) {
		return;
	}
	if (ptx_token_is(token, ".global") || ptx_token_is(token, ".const")) {
		directive->is_variable = true;
	}
	bool is_name = ptx_is_word(token->text[0]) && token->text[0] != '.'
		&& !(token->text[0] >= '0' && token->text[0] <= '9');
	if (is_name && directive->name.len == 0) {
		directive->name = *token;
	}
}

/* Read a directive up to its end; false at the end of the text.  *has_body for a function. */
static bool symbols_read_directive(struct directive *out, const char **at, bool *has_body)
{
	*out = (struct directive){.is_variable = false};
	*has_body = false;
	for (;;) {
		struct ptx_token token = ptx_next_token(at);
		if (token.len == 0) {
			return false;
		}
		if (ptx_token_is(&token, "(")) {
			*at = symbols_skip_list(*at);
		} else if (ptx_token_is(&token, "{")) {
			*at = ptx_skip_braces(*at);
			*has_body = true;
			if (!out->is_variable) {
				return true;
			}
		} else if (ptx_token_is(&token, ";")) {
			return true;
		} else if (ptx_token_is(&token, "=")) {
			const char *value = ptx_skip_space(*at);
			*at = *value == '{' ? ptx_skip_braces(value + 1) : *at;
		} else {
			symbols_read_word(out, &token);
		}
	}
}

/* `.version 9.0` and the like have no mark at their end: go on to the next directive. */
static bool symbols_skip_header(const char **at)
{
	static const char *const words[] = {".version", ".target", ".address_size", ".file"};
	const char *from = *at;
	struct ptx_token token = ptx_next_token(&from);
	bool is_header = false;
	for (size_t i = 0; i < countof(words); i++) {
		is_header = is_header || ptx_token_is(&token, words[i]);
	}
	while (is_header && token.len > 0) {
		*at = from;
		token = ptx_next_token(&from);
		if (token.text[0] == '.') {
			break;
		}
	}
	return is_header;
}

static bool ptx_symbols(const char *text, symbol_found *found, void *arg)
{
	struct directive directive;
	bool has_body;
	for (;;) {
		while (symbols_skip_header(&text)) {
		}
		if (!symbols_read_directive(&directive, &text, &has_body)) {
			return true;
		}
		bool counts = directive.linkage == SYMBOL_UNDEFINED || directive.is_variable
			|| has_body;
		if (directive.is_shared_by_all && directive.name.len > 0 && counts
		    && !found(arg, directive.name.text, directive.name.len, directive.linkage)) {
			return false;
		}
	}
}

static bool elf_symbols(const struct elf *elf, const Elf64_Shdr *table, symbol_found *found,
	void *arg)
{
	Elf64_Sym symbol;
	for (uint64_t at = 0; at + sizeof(symbol) <= table->sh_size; at += sizeof(symbol)) {
		if (!elf_read(elf, &symbol, table->sh_offset + at, sizeof(symbol))) {
			return true;
		}
		unsigned bind = ELF64_ST_BIND(symbol.st_info);
		const char *name = elf_string(elf, table->sh_link, symbol.st_name);
		if (!name || !name[0] || (bind != STB_GLOBAL && bind != STB_WEAK)) {
			continue;
		}
		enum symbol_kind kind = symbol.st_shndx == SHN_UNDEF ? SYMBOL_UNDEFINED
			: bind == STB_WEAK || symbol.st_shndx == SHN_COMMON ? SYMBOL_WEAK
			: SYMBOL_STRONG;
		if (!found(arg, name, strlen(name), kind)) {
			return false;
		}
	}
	return true;
}

static bool cubin_symbols(const struct part *part, symbol_found *found, void *arg)
{
	struct elf elf;
	Elf64_Shdr section;
	if (!elf_open(&elf, part->data, part->size)) {
		return true;
	}
	for (uint32_t i = 0; i < elf.header.e_shnum; i++) {
		if (elf_section(&elf, &section, i) && section.sh_type == SHT_SYMTAB
		    && elf_section_data(&elf, &section)
		    && !elf_symbols(&elf, &section, found, arg)) {
			return false;
		}
	}
	return true;
}

bool symbols_of(const struct part *part, symbol_found *found, void *arg)
{
	switch (part->kind) {
	case RTC_PTX:
		return ptx_symbols(part->data, found, arg);
	case RTC_CUBIN:
		return cubin_symbols(part, found, arg);
	default:
		return true;
	}
}
