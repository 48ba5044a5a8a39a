/* SPDX-License-Identifier: MIT */
/* What is wrong with an instruction, in words. */
#include "base/common.h"

#include "base/str.h"
#include "cpu/ptx/checker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool check_fail(struct checker *c, const char *format, ...)
{
	char text[200];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return ptx_fail(c->diag, c->inst->line, c->inst->column, "%s", text);
}

void check_describe(struct checker *c, const struct ptx_operand *o, char text[static 96])
{
	static const char *const sregs[] = {
#define X(name, spelling, type) spelling,
		PTX_SREGS(X)
#undef X
	};
	const size_t size = 96;
	const struct ptx_reg *regs = c->func->regs;
	switch (o->kind) {
	case PTX_REG:
		snprintf(text, size, "%s%.60s (%s)", o->negated ? "!" : o->minus ? "-" : "",
			regs[o->reg].name,
			ptx_type_name(regs[o->reg].type));
		break;
	case PTX_PAIR:
		snprintf(text, size, "%.40s|%.40s", regs[o->reg].name, regs[o->reg2].name);
		break;
	case PTX_INT:
		snprintf(text, size, "%lld", (long long)o->value);
		break;
	case PTX_FLOAT:
		str_format(text, size, "the floating-point constant %g", o->real);
		break;
	case PTX_SREG:
		snprintf(text, size, "special register %s", sregs[o->sreg]);
		break;
	case PTX_ADDRESS:
		snprintf(text, size, "%s%.60s", o->bracketed ? "memory at " : "variable ",
			o->var ? o->var->name : o->has_base ? regs[o->reg].name : "a number");
		break;
	case PTX_LABEL:
		snprintf(text, size, "label %.60s", o->label);
		break;
	case PTX_FUNC:
		snprintf(text, size, "function %.60s", o->func->name);
		break;
	case PTX_VECTOR:
		snprintf(text, size, "a list of %zu", o->count);
		break;
	case PTX_SINK:
		snprintf(text, size, "_");
		break;
	}
}
