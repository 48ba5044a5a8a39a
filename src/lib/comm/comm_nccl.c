/* SPDX-License-Identifier: MIT */
/*
 * Collectives by NCCL.
 *
 * NCCL belongs to the CUDA runtime, whose current device is that of the context that is current
 * here. The calls for all members of this process stand between ncclGroupStart and ncclGroupEnd, as
 * NCCL wants it of one thread.  Its kernels wait for each other, so the streams need not meet.
 */
#include "base/common.h"

#include "lib/comm/comm_nccl.h"

#include "base/alloc.h"
#include "base/dl.h"
#include "base/env.h"
#include "lib/cuda/codes.h"
#include "lib/rtc/find.h"

#include <string.h>

static const char *const nccl_names[] = {"libnccl.so.2", "libnccl.so", NULL};

static pthread_mutex_t nccl_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static bool nccl_is_open;
static struct nccl nccl_found; /* once it is open */

/* Finding it */

static bool nccl_take(struct find *find, void *object, const char *path)
{
	static const struct dl_row functions[] = {
#define E(name, value)
#define F(name, symbol, parameters) {#symbol, offsetof(struct nccl, name), true},
#include "lib/comm/nccl.def"
#undef F
#undef E
	};
	struct nccl made;
	const char *missing = dl_fill(object, functions, countof(functions), &made);
	if (missing) {
		str_addf(&find->log, "  %s: not NCCL, it lacks %s\n", path, missing);
		return false;
	}
	nccl_found = made;
	return true;
}

/* *out is NULL where NCCL is not installed. */
static kz_status nccl_get(const struct nccl **out, struct str *log, kz_error *err)
{
	static const struct find_what what = {"libnccl.so", "KUDZU_NCCL", nccl_names, nccl_take};
	struct find find = {.what = &what, .log = STR_INIT};
	const char *named = env_get(what.variable);
	pthread_mutex_lock(&nccl_lock);
	if (!nccl_is_open && named && strcmp(named, "none") == 0) {
		str_add(&find.log, "  KUDZU_NCCL is set to none\n");
	} else if (!nccl_is_open) {
		find_library(&find);
		nccl_is_open = find.found;
	}
	*out = nccl_is_open ? &nccl_found : NULL;
	pthread_mutex_unlock(&nccl_lock);
	mem_free(find.path);
	const bool failed = find.no_memory || find.log.failed;
	*log = find.log;
	return failed ? error_no_memory(err) : KZ_OK;
}

/* NCCL, or an error that says where the search looked. */
static kz_status nccl_need(const struct nccl **out, kz_error *err)
{
	struct str log;
	const bool mine = error_is_clean(err);
	kz_status st = nccl_get(out, &log, err);
	if (!st && !*out) {
		st = error_set(err, KZ_NOT_FOUND, "NCCL was not found");
		if (mine) {
			error_add_hint(err, "install the package nvidia-nccl-cu12 or "
				"nvidia-nccl-cu13 of PyPI, or set KUDZU_NCCL to the library or its "
				"folder");
			error_take_log(err, str_take(&log));
		}
	}
	str_free(&log);
	return st;
}

/* NCCL may be absent, unless KUDZU_NCCL names a library, which then has to be one. */
static kz_status nccl_look(const struct nccl **out, kz_error *err)
{
	const char *named = env_get("KUDZU_NCCL");
	struct str log;
	if (named && *named && strcmp(named, "none") != 0) {
		return nccl_need(out, err);
	}
	kz_status st = nccl_get(out, &log, err);
	str_free(&log);
	return st;
}

static kz_status nccl_ok(int code, const char *call, kz_error *err)
{
	return code && code != ncclInProgress ? codes_fail(KZ_DOMAIN_NCCL, code, call, NULL, err)
		: KZ_OK;
}

kz_status kz_comm_id_create(kz_comm_id *out, kz_error *err)
{
	error_scope(err);
	const struct nccl *nccl;
	kz_status st = out_check(out, sizeof(*out), __func__, err);
	st = st ? st : nccl_need(&nccl, err);
	return st ? st : nccl_ok(nccl->make_id(out), "ncclGetUniqueId", err);
}

/* Its communicators */

static kz_status comm_nccl_init(struct kz_comm *comm, ncclUniqueId id, kz_error *err)
{
	const struct nccl *nccl = comm->nccl;
	kz_status st = nccl_ok(nccl->begin(), "ncclGroupStart", err);
	if (st) {
		return st;
	}
	for (int i = 0; i < comm->local_count && !st; i++) {
		struct comm_member *member = &comm->members[i];
		struct device_scope scope;
		if (!(st = device_enter(member->device, &scope, err))) {
			st = nccl_ok(nccl->init(&member->nccl, comm->count, id, comm->first + i),
				"ncclCommInitRank", err);
			device_leave(member->device, &scope);
		}
	}
	kz_status end = nccl_ok(nccl->end(), "ncclGroupEnd", st ? NULL : err);
	return st ? st : end;
}

kz_status comm_nccl_start(struct kz_comm *comm, const kz_comm_options *options, kz_error *err)
{
	const bool is_wanted = options->engine == KZ_COMM_NCCL || options->id;
	kz_status st;
	const bool is_worth_it = comm->members[0].device->has_libraries && comm->local_count > 1;
	if (!is_wanted && !is_worth_it) {
		return KZ_OK;
	}
	if ((st = (is_wanted ? nccl_need : nccl_look)(&comm->nccl, err)) || !comm->nccl) {
		return st;
	}
	ncclUniqueId id;
	st = options->id ? KZ_OK : nccl_ok(comm->nccl->make_id(&id), "ncclGetUniqueId", err);
	return st ? st : comm_nccl_init(comm, options->id ? *options->id : id, err);
}

void comm_nccl_end(struct kz_comm *comm)
{
	const bool has_failed = comm->is_late || comm->cause.status;
	for (int i = 0; i < comm->local_count; i++) {
		struct comm_member *member = &comm->members[i];
		struct device_scope scope;
		if (member->nccl && device_enter_quietly(member->device, &scope)) {
			(void)(has_failed ? comm->nccl->abort : comm->nccl->destroy)(member->nccl);
			device_leave(member->device, &scope);
		}
	}
}

kz_status comm_nccl_check(int *member, struct kz_comm *comm, kz_error *err)
{
	kz_status st = KZ_OK;
	for (*member = 0; *member < comm->local_count; ++*member) {
		ncclResult_t result = 0;
		int code = comm->nccl->get_error(comm->members[*member].nccl, &result);
		if ((st = nccl_ok(code ? code : result, "ncclCommGetAsyncError", err))) {
			break;
		}
	}
	return st;
}

/* Calls */

/* The type of a reduction, and how many of it an element is; 0: NCCL has none. */
static int64_t nccl_type(ncclDataType_t *out, kz_dtype dtype, kz_reduce_op op)
{
	static const struct {
		kz_dtype dtype;
		ncclDataType_t type;
		int64_t count;
	} types[] = {
		{KZ_BOOL, ncclUint8, 1}, {KZ_I8, ncclInt8, 1}, {KZ_U8, ncclUint8, 1},
		{KZ_I32, ncclInt32, 1}, {KZ_U32, ncclUint32, 1}, {KZ_I64, ncclInt64, 1},
		{KZ_U64, ncclUint64, 1}, {KZ_F16, ncclFloat16, 1}, {KZ_BF16, ncclBfloat16, 1},
		{KZ_F32, ncclFloat32, 1}, {KZ_F64, ncclFloat64, 1}, {KZ_C64, ncclFloat32, 2},
		{KZ_C128, ncclFloat64, 2},
	};
	if (!op) {
		*out = ncclUint8;
		return kz_dtype_size(dtype);
	}
	for (size_t i = 0; i < countof(types); i++) {
		if (types[i].dtype == dtype && (op != KZ_REDUCE_PROD || types[i].count == 1)) {
			*out = types[i].type;
			return types[i].count;
		}
	}
	return 0;
}

/* What one member has in a call. */
struct nccl_part {
	const void *from;
	void *into;
	size_t count;
	ncclDataType_t type;
	ncclRedOp_t op;
	ncclComm_t comm;
	CUstream stream;
};

/* Each member sends a part to each one, itself too. */
static int nccl_all_to_all(const struct kz_comm *comm, const struct nccl_part *part)
{
	int code = 0;
	for (int i = 0; i < comm->count && !code; i++) {
		const size_t offset = (size_t)i * part->count; /* of bytes */
		code = comm->nccl->send((const char *)part->from + offset, part->count, part->type,
			i, part->comm, part->stream);
		code = code ? code : comm->nccl->receive((char *)part->into + offset, part->count,
			part->type, i, part->comm, part->stream);
	}
	return code;
}

static int nccl_call(const struct kz_comm *comm, const struct comm_call *call,
	const struct nccl_part *part)
{
	const struct nccl *nccl = comm->nccl;
	switch (call->kind) {
	case COMM_ALL_REDUCE:
		return nccl->all_reduce(part->from, part->into, part->count, part->type, part->op,
			part->comm, part->stream);
	case COMM_REDUCE:
		return nccl->reduce(part->from, part->into, part->count, part->type, part->op,
			call->root, part->comm, part->stream);
	case COMM_REDUCE_SCATTER:
		return nccl->reduce_scatter(part->from, part->into, part->count, part->type,
			part->op, part->comm, part->stream);
	case COMM_BROADCAST:
		return nccl->broadcast(part->from ? part->from : part->into,
			part->into ? part->into : (void *)(uintptr_t)part->from, part->count,
			part->type, call->root, part->comm, part->stream);
	case COMM_ALL_GATHER:
		return nccl->all_gather(part->from, part->into, part->count, part->type, part->comm,
			part->stream);
	case COMM_ALL_TO_ALL:
		return nccl_all_to_all(comm, part);
	default: /* one end of a message, or both: see comm_match */
		return part->from
			? nccl->send(part->from, part->count, part->type, call->root, part->comm,
				part->stream)
			: nccl->receive(part->into, part->count, part->type,
				call->kind == COMM_SEND ? comm->first + call->member : call->root,
				part->comm, part->stream);
	}
}

static kz_status comm_nccl_put(struct kz_comm *comm, const struct comm_call *call, kz_error *err)
{
	static const ncclRedOp_t ops[] = {[KZ_REDUCE_SUM] = ncclSum, [KZ_REDUCE_PROD] = ncclProd,
		[KZ_REDUCE_MIN] = ncclMin, [KZ_REDUCE_MAX] = ncclMax, [KZ_REDUCE_MEAN] = ncclAvg};
	struct nccl_part part = {.op = ops[call->op]};
	const int64_t each = nccl_type(&part.type, call->dtype, call->op);
	kz_status st = each ? KZ_OK : error_set(err, KZ_UNSUPPORTED, "NCCL has no such reduction "
		"of %s", kz_dtype_name(call->dtype));
	part.count = (size_t)(call->count * each);
	for (int i = 0; i < comm->local_count && !st; i++) {
		const struct comm_end *end = &call->ends[i];
		struct device_scope scope;
		if (!end->stream || (st = device_enter(comm->members[i].device, &scope, err))) {
			continue;
		}
		/* NOLINTBEGIN(performance-no-int-to-ptr): addresses they are */
		part.from = (const void *)end->from.address;
		part.into = (void *)end->into.address;
		/* NOLINTEND(performance-no-int-to-ptr) */
		part.comm = comm->members[i].nccl;
		part.stream = end->stream->handle;
		st = nccl_ok(nccl_call(comm, call, &part), "NCCL", err);
		device_leave(comm->members[i].device, &scope);
	}
	return st;
}

kz_status comm_nccl_run(struct kz_comm *comm, struct comm_call *calls, kz_error *err)
{
	kz_status st = KZ_OK;
	struct comm_call *call;
	for (call = calls; call && !st; call = call->next) {
		st = comm_is_part(call) ? KZ_OK : comm_begin(comm, call, err);
	}
	if (st || (st = nccl_ok(comm->nccl->begin(), "ncclGroupStart", err))) {
		return st;
	}
	for (call = calls; call && !st; call = call->next) {
		st = comm_is_part(call) ? KZ_OK : comm_nccl_put(comm, call, err);
	}
	kz_status end = nccl_ok(comm->nccl->end(), "ncclGroupEnd", st ? NULL : err);
	st = st ? st : end;
	for (call = calls; call && !st; call = call->next) {
		st = comm_is_part(call) ? KZ_OK : comm_end(comm, call, err);
	}
	return st;
}
