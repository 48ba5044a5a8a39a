/* SPDX-License-Identifier: MIT */
/*
 * The tables of native codes, and the one place that turns such a code into an error value.  The
 * vendors' own functions for names and texts are not used, since they may be missing or fail just
 * when something else has failed.
 */
#include "base/common.h"

#include "lib/cuda/codes.h"

#define STICKY KZ_ERROR_STICKY
#define ASYNC KZ_ERROR_MAYBE_ASYNC
#define RETRY KZ_ERROR_RETRYABLE
#define INFO KZ_ERROR_INFORMATIONAL
#define REPORT "this is a bug in Kudzu: please report it, with what kudzu doctor prints"

static const struct native_code codes[] = {
#define X(domain, number, symbol, status, flags, text, hint)                                       \
	{KZ_DOMAIN_##domain, number, #symbol, KZ_##status, flags, text, hint},
#include "base/codes.def"
#undef X
};

const struct native_code *codes_find(kz_domain domain, int number)
{
	for (size_t i = 0; i < countof(codes); i++) {
		if (codes[i].domain == domain && codes[i].number == number) {
			return &codes[i];
		}
	}
	return NULL;
}

int codes_count(kz_domain domain)
{
	int count = 0;
	for (size_t i = 0; i < countof(codes); i++) {
		count += codes[i].domain == domain;
	}
	return count;
}

kz_status codes_fail(kz_domain domain, int code, const char *call, const char *what, kz_error *err)
{
	bool mine = error_is_clean(err);
	const struct native_code *known = codes_find(domain, code);
	struct foreign_code foreign = {domain, code, known ? known->name : NULL, .call = call};
	if (!known || known->status == KZ_OK) {
		error_foreign(err, KZ_UNKNOWN, &foreign, "%s: unexpected code %d",
			what ? what : call, code);
		if (mine) {
			error_add_hint(err, "a later version of CUDA may have the code: its "
				"headers say what it means");
		}
		return KZ_UNKNOWN;
	}
	foreign.flags = known->flags;
	error_foreign(err, known->status, &foreign, "%s: %s", what ? what : call, known->text);
	if (mine) {
		error_add_hint(err, known->hint);
	}
	return known->status;
}

void codes_add(kz_domain domain, int code, const char *call, kz_error *err)
{
	const struct native_code *known = codes_find(domain, code);
	err->domain = domain;
	err->code = code;
	err->name = known->name;
	err->call = call;
	err->flags = known->flags;
	error_add_hint(err, err->hint ? err->hint : known->hint);
}
