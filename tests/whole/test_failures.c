/* SPDX-License-Identifier: MIT */
/*
 * Every failure of the driver and of NVRTC reaches the user from every public function.
 *
 * failures.def calls each public function that takes a kz_error; a test reads the public headers
 * and wants them all there.  A first call, which succeeds, tells which functions of the driver a
 * public function calls.  Then each code of the driver is scripted for one of these in turn, and
 * the error value must have the code's status, number and name, the call that failed, and advice.
 * With KUDZU_TEST_SLOW each code is scripted for each call.  The same is done with a scripted
 * NVRTC.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/cuda/codes.h"
#include "lib/rtc/nvrtc.h"
#include "support/suite.h"
#include "support/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#define DEVICES "devices=3;clear=1;globals=values:16"
#define KERNEL "__global__ void k(float *a, int n) { a[0] = n; }"
#define STRUCT "struct pair { int first; float second; };"

struct pair {
	int first;
	float second;
};

/* As DLPack has them. */
struct DLManagedTensor {
	_Alignas(8) char tensor[48];
	void *context;
	void (*deleter)(struct DLManagedTensor *self);
};
struct DLManagedTensorVersioned {
	uint32_t version[2];
	void *context;
	void (*deleter)(struct DLManagedTensorVersioned *self);
};

static const char ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .global .align 4 .b8 values[16];\n"
	".visible .entry k(.param .u64 a, .param .u32 n)\n{\n\tret;\n}\n"
	".visible .entry other()\n{\n\tret;\n}\n";
static const int64_t across[2] = {4, 8};
static const kz_stream_options urgent = {.size = sizeof(urgent), .priority = -1};
static const kz_event_options between_processes = {
	.size = sizeof(between_processes), .disable_timing = 1, .interprocess = 1};

/* What the calls work on. */
static kz_error error, *err = &error;
static kz_device *dev, *other;
static kz_stream *stream;
static kz_event *events[2], *shared;
static kz_timing timing; /* begun; new_timing is for a call to begin */
static kz_timing new_timing;
static kz_ipc_handle handle; /* of shared */
static kz_buffer *buffer, *managed, *growable; /* growable has no memory yet */
static kz_buffer_handle memory_handle; /* of buffer */
static kz_pinned *pinned;
static kz_array *f, *m, *n, *wide, *gaps, *turned, *pair, *i, *b, *growing;
static kz_image *image;
static kz_module *module;
static kz_watcher *watcher;
static kz_kernel *kernel;
static kz_kernel_info info;
static kz_prepared *prepared;
static kz_elementwise *elementwise;
static kz_reduction *reduction;
static kz_random *rng;
static kz_sparse *csr, *coo;
static kz_comm *comm; /* of both devices, in a group */
static kz_comm_options own_engine;
static kz_device *both[2];
static kz_array *halves[2], *wholes[2]; /* of both devices */
static kz_npz *npz;
static kz_link_options driver_links;
static struct DLManagedTensor *exported; /* NULL once it is deleted */
static struct DLManagedTensorVersioned *exported_versioned;
static kz_graph *graph, *child, *allocating;
static kz_node *node;
static kz_exec *exec;
static kz_buffer *promised; /* what a node of `allocating` allocates */
static kz_cuda_array *plain, *mipmap;
static kz_cuda_array_options writable;
static FILE *nowhere;
static float host[64];
static char text[4096], npy[4096], page[4096];
static int64_t size, npy_size;
static int32_t attribute;
static uint64_t condition;
static double real;
static int least, greatest;
static struct {
	char folder[32], ptx[64], cu[64], csv[64], npy[64], npz[64], saved[64];
} files;

static long live[STUB_KIND_COUNT]; /* of earlier worlds, whose device was lost */

/* What they make. */
static struct {
	kz_device *device, *devices[3];
	int count;
	kz_stream *stream;
	kz_event *event;
	kz_buffer *buffer;
	kz_array *array, *arrays[4];
	kz_pinned *pinned;
	kz_image *image;
	kz_module *module;
	kz_kernel *kernel; /* borrowed */
	kz_tuning *tuning;
	kz_elementwise *elementwise;
	kz_reduction *reduction;
	kz_graph *graph, *body; /* the body belongs to its node */
	kz_exec *exec;
	kz_cuda_array *texels;
	kz_texture *texture;
	kz_surface *surface;
	kz_sparse *sparse;
	kz_random *random;
	kz_comm *comm;
} made;

static void do_nothing(void *user)
{
	(void)user;
}

static kz_status double_vector(void *data, kz_array *to, kz_array *from, kz_stream *on,
	kz_error *why)
{
	const kz_op_options options = {.size = sizeof(options), .into = to, .stream = on};
	(void)data;
	return kz_apply(NULL, KZ_OP_ADD, &options, why, KZ_ARGS(from, from));
}

static const int64_t threads[] = {32, 64};
static const kz_tune_parameter blocks = {KZ_TUNE_BLOCK_X, 0, NULL, 2, threads, NULL};
static const kz_tunable tunable = {.size = sizeof(tunable), .source = KERNEL, .kernel = "k",
	.parameters = &blocks, .parameter_count = 1};

static const kz_operator doubling = {.size = sizeof(doubling), .apply = double_vector};

/* What a call reaches, what goes on when it is made, and whether it releases objects when it fails,
 * which the driver may refuse. */
enum { DRIVER = 1, NVRTC = 2, BOTH = 3, CAPTURED = 4, RELEASES = 8 };

#define CALLS(function, reaches, arguments) \
	static kz_status call_##function(void) \
	{ \
		return function arguments; \
	}
#define NEVER(function, why)
#include "failures.def"
#undef CALLS

static const struct {
	const char *name;
	int reaches;
	kz_status (*call)(void);
} rows[] = {
#define CALLS(function, reaches, arguments) {#function, reaches, call_##function},
#include "failures.def"
#undef CALLS
};
#undef NEVER

static kz_array *array_of(kz_dtype dtype, kz_shape shape, const void *values, int64_t bytes)
{
	kz_array *array = NULL;
	ck_assert_int_eq(kz_array_from(&array, dev, dtype, shape, values, bytes, NULL), KZ_OK);
	return array;
}

static void make_arrays(void)
{
	static const int64_t indexes[4] = {0, 1, 2, 3};
	static const bool mask[4] = {true, false, true, true};
	for (int at = 0; at < 16; at++) {
		host[at] = at % 5 == 0 ? 2 : 0.25F;
	}
	static const float square[4] = {2, 0, 0, 2};
	f = array_of(KZ_F32, KZ_SHAPE(4), host, 16);
	m = array_of(KZ_F32, KZ_SHAPE(2, 2), square, 16);
	n = array_of(KZ_F32, KZ_SHAPE(2, 2), square, 16);
	pair = array_of(KZ_F32, KZ_SHAPE(2), square, 8);
	wide = array_of(KZ_F32, KZ_SHAPE(4, 4), host, 64);
	i = array_of(KZ_I64, KZ_SHAPE(4), indexes, sizeof(indexes));
	b = array_of(KZ_BOOL, KZ_SHAPE(4), mask, sizeof(mask));
	ck_assert_int_eq(kz_array_slice(&gaps, wide, KZ_AT(KZ_ALL, KZ_SLICE(0, KZ_OMIT, 2)), err),
		KZ_OK);
	ck_assert_int_eq(kz_array_transpose(&turned, m, KZ_AXES(), err), KZ_OK);
}

/* The folder of this process. */
static void make_files(void)
{
	strcpy(files.folder, "/tmp/kudzu-test-XXXXXX"); /* mkdtemp's template */
	ck_assert_ptr_nonnull(mkdtemp(files.folder));
	snprintf(files.ptx, sizeof(files.ptx), "%s/k.ptx", files.folder);
	snprintf(files.csv, sizeof(files.csv), "%s/f.csv", files.folder);
	snprintf(files.npy, sizeof(files.npy), "%s/f.npy", files.folder);
	snprintf(files.npz, sizeof(files.npz), "%s/f.npz", files.folder);
	snprintf(files.saved, sizeof(files.saved), "%s/saved", files.folder);
	snprintf(files.cu, sizeof(files.cu), "%s/k.cu", files.folder);
	const char *const texts[][2] = {{files.ptx, ptx}, {files.cu, KERNEL}, {files.csv, "1,2\n"}};
	for (size_t at = 0; at < countof(texts); at++) {
		FILE *to = fopen(texts[at][0], "w");
		fputs(texts[at][1], to);
		fclose(to);
	}
	nowhere = fopen("/dev/null", "w");
}

static void remove_files(void)
{
	const char *const all[] = {files.ptx, files.cu, files.csv, files.npy, files.npz,
		files.saved};
	for (size_t at = 0; at < countof(all); at++) {
		unlink(all[at]);
	}
	ck_assert_int_eq(rmdir(files.folder), 0);
	fclose(nowhere);
	kz_npz_close(npz);
}

/* The library's deleters, and ours, which note that they ran. */
static void (*delete_exported)(struct DLManagedTensor *self);
static void (*delete_exported_versioned)(struct DLManagedTensorVersioned *self);

static void exported_deleted(struct DLManagedTensor *self)
{
	exported = NULL;
	delete_exported(self);
}

static void exported_versioned_deleted(struct DLManagedTensorVersioned *self)
{
	exported_versioned = NULL;
	delete_exported_versioned(self);
}

static kz_status export_tensors(void)
{
	kz_status st = kz_dlpack_export(&exported, f, err);
	if (st || (st = kz_dlpack_export_versioned(&exported_versioned, f, err))) {
		return st;
	}
	delete_exported = exported->deleter;
	delete_exported_versioned = exported_versioned->deleter;
	exported->deleter = exported_deleted;
	exported_versioned->deleter = exported_versioned_deleted;
	return KZ_OK;
}

/* Once in a process. */
static kz_status fill_files(void)
{
	kz_status st;
	npy_size = kz_npy_size(f);
	return (st = kz_npy_write(f, npy, npy_size, err)) || (st = kz_array_save(f, files.npy, err))
			|| (st = kz_npz_save(files.npz, &(kz_npz_item){"f", f}, 1, err))
		? st : kz_npz_open(&npz, files.npz, err);
}

static kz_status make_graphs(void)
{
	kz_status st;
	return (st = kz_graph_create(&graph, dev, err)) || (st = kz_graph_create(&child, dev, err))
			|| (st = kz_graph_create(&allocating, dev, err))
			|| (st = kz_graph_add_kernel(&node, graph, KZ_AFTER(), kernel,
				    kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, err, KZ_ARGS(f, 4)))
			|| (st = kz_graph_add_alloc(NULL, &promised, allocating, KZ_AFTER(), 64,
				err))
			|| (st = kz_graph_condition(&condition, graph, 1, err))
		? st : kz_graph_instantiate(&exec, graph, err);
}

static kz_status make_texels(void)
{
	writable = (kz_cuda_array_options)KZ_CUDA_ARRAY_OPTIONS_INIT;
	writable.levels = 2;
	writable.surface = 1;
	kz_status st = kz_cuda_array_create(&plain, dev, KZ_F32, KZ_SHAPE(2, 2), NULL, err);
	return st ? st
		: kz_cuda_array_create(&mipmap, dev, KZ_F32, KZ_SHAPE(2, 2), &writable, err);
}

/* The stub runs no kernels, so nothing checks their parts. */
static kz_status make_matrices(void)
{
	const kz_sparse_options trusted = {.size = sizeof(trusted), .trusted = 1};
	kz_status st = kz_sparse_create_csr(&csr, 3, 4, f, i, i, &trusted, err);
	return st ? st : kz_sparse_create_coo(&coo, 4, 4, f, i, i, &trusted, err);
}

static kz_status make_members(void)
{
	own_engine = (kz_comm_options)KZ_COMM_OPTIONS_INIT;
	own_engine.engine = KZ_COMM_OWN;
	both[0] = dev;
	both[1] = other;
	for (int at = 0; at < 2; at++) {
		kz_status st = kz_array_create(&halves[at], both[at], KZ_F32, KZ_SHAPE(2), err);
		st = st ? st : kz_array_create(&wholes[at], both[at], KZ_F32, KZ_SHAPE(4), err);
		if (st) {
			return st;
		}
	}
	kz_status st = kz_comm_create(&comm, both, 2, &own_engine, err);
	return st ? st : kz_comm_broadcast(comm, halves, 0, NULL, err); /* to be waited for */
}

static kz_status open_world(int row)
{
	kz_status st;
	support_stub(DEVICES);
	for (int kind = 0; kind < STUB_KIND_COUNT; kind++) {
		live[kind] = support_stub_live((enum stub_kind)kind);
	}
	driver_links = (kz_link_options)KZ_LINK_OPTIONS_INIT;
	driver_links.linker = KZ_LINKER_DRIVER;
	info = (kz_kernel_info)KZ_KERNEL_INFO_INIT;
	memset(&made, 0, sizeof(made));
	timing = new_timing = (kz_timing)KZ_TIMING_INIT;
	/* Without a pool each allocation is the driver's. */
	if ((st = kz_device_open(&dev, "cuda:0", err))
	    || (st = kz_device_open(&other, "cuda:1", err))
	    || (st = kz_device_enable_peer_access(other, dev, err))
	    || (st = kz_device_use_pool(dev, 0, err))
	    || (st = kz_stream_create(&stream, dev, 0, err))
	    || (st = kz_event_create(&events[0], dev, err))
	    || (st = kz_event_create(&events[1], dev, err))
	    || (st = kz_event_record(events[0], stream, err))
	    || (st = kz_event_record(events[1], stream, err))
	    || (st = kz_timing_begin(&timing, stream, 1, err))
	    || (st = kz_event_create_with(&shared, dev, &between_processes, err))
	    || (st = kz_event_export(&handle, shared, err))
	    || (st = kz_buffer_create(&buffer, dev, 64, err))
	    || (st = kz_buffer_export(&memory_handle, buffer, err))
	    || (st = kz_managed_create(&managed, dev, 64, err))
	    || (st = kz_buffer_create_growable(&growable, dev, 0, 64, err))
	    || (st = kz_array_create_growable(&growing, dev, KZ_F32, KZ_SHAPE(8), 8, err))
	    || (st = kz_fill(kz_array_buffer(growing), 0, 32, host, 4, stream, err))
	    || (st = kz_pinned_create(&pinned, dev, 64, err))
	    || (st = kz_image_create(&image, ptx, sizeof(ptx) - 1, err))
	    || (st = kz_module_load_image(&module, dev, image, err))
	    || (st = kz_module_kernel(&kernel, module, "k", err))
	    || (st = kz_watcher_create(&watcher, dev, files.cu, NULL, err))
	    || (st = kz_elementwise_create(&elementwise, dev, "float *x", "x[i] = 2", NULL, err))
	    || (st = kz_reduction_create(&reduction, dev, KZ_F32, "0", "a + b", NULL, "float *x",
		NULL,
			err))
	    || (st = kz_random_create(&rng, dev, 1, 0, err))) {
		return st;
	}
	kz_buffer *kept = NULL;
	if ((st = kz_buffer_create(&kept, other, 64, err))) {
		return st;
	}
	kz_buffer_release(kept); /* to the pool */
	make_arrays();
	if ((st = kz_prepared_create(&prepared, kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, err,
		     KZ_ARGS(f, 4)))) {
		return st;
	}
	st = npz ? KZ_OK : fill_files();
	if (st || (st = export_tensors()) || (st = make_graphs()) || (st = make_texels())
	    || (st = make_matrices()) || (st = make_members())) {
		return st;
	}
	if (rows[row].reaches & CAPTURED) {
		st = kz_graph_begin(stream, NULL, err);
	}
	support_stub(DEVICES);
	return st;
}

static void close_made(void)
{
	kz_device_close(made.device);
	for (int at = 0; at < made.count; at++) {
		kz_device_close(made.devices[at]);
	}
	kz_stream_release(made.stream);
	kz_event_release(made.event);
	kz_buffer_release(made.buffer);
	kz_array_release(made.array);
	support_release_arrays(made.arrays, countof(made.arrays));
	kz_pinned_release(made.pinned);
	kz_image_release(made.image);
	kz_module_release(made.module);
	kz_tuning_release(made.tuning);
	kz_elementwise_release(made.elementwise);
	kz_reduction_release(made.reduction);
	kz_exec_release(made.exec);
	kz_graph_release(made.graph);
	kz_texture_release(made.texture);
	kz_surface_release(made.surface);
	kz_cuda_array_release(made.texels);
	kz_sparse_release(made.sparse);
	kz_random_release(made.random);
	kz_comm_release(made.comm);
}

/* The driver has back what the world took, unless it lost a device or failed to take it. */
static void close_world(int row, bool is_clean)
{
	is_clean &= kz_device_check(dev, NULL) == KZ_OK && kz_device_check(other, NULL) == KZ_OK;
	support_stub(DEVICES);
	ck_assert_int_eq(kz_graph_abort(stream, NULL), KZ_OK);
	close_made();
	if (exported) {
		exported->deleter(exported);
	}
	if (exported_versioned) {
		exported_versioned->deleter(exported_versioned);
	}
	kz_prepared_release(prepared);
	release_arrays(f, m, n, wide, gaps, turned, pair, i, b);
	kz_exec_release(exec);
	kz_buffer_release(promised);
	kz_graph_release(graph);
	kz_graph_release(child);
	kz_graph_release(allocating);
	kz_cuda_array_release(plain);
	kz_cuda_array_release(mipmap);
	kz_elementwise_release(elementwise);
	kz_reduction_release(reduction);
	kz_random_release(rng);
	kz_sparse_release(csr);
	kz_sparse_release(coo);
	kz_comm_release(comm);
	release_arrays(halves[0], halves[1], wholes[0], wholes[1]);
	kz_watcher_release(watcher);
	kz_module_release(module);
	kz_image_release(image);
	kz_buffer_release(buffer);
	kz_buffer_release(managed);
	kz_buffer_release(growable);
	kz_array_release(growing);
	kz_pinned_release(pinned);
	(void)(kz_timing_next(&timing, KZ_UNKNOWN, NULL)
		&& kz_timing_next(&new_timing, KZ_UNKNOWN, NULL)); // ended
	kz_event_release(shared);
	kz_event_release(events[0]);
	kz_event_release(events[1]);
	kz_stream_release(stream);
	kz_device_close(other);
	kz_device_close(dev);
	kz_error_clear(err);
	for (int kind = 0; is_clean && kind < STUB_KIND_COUNT; kind++) {
		long left = support_stub_live((enum stub_kind)kind);
		ck_assert_msg(left == live[kind], "%s: expected %ld live of stub_kind %d, got %ld",
			rows[row].name, live[kind], kind, left);
	}
}


/* Failures of the driver */

static const char *const driver_calls[] = {
#define X(name, symbol, since, need, parameters) "cu" #name,
#include "lib/cuda/cuda.def"
#undef X
};

/* Calls whose failure changes no result, so that the public function succeeds. */
static const struct {
	const char *call;
	const char *why;
} silent[] = {
	{"cuMemFree", "a release cannot fail"},
	{"cuMemFreeAsync", "a release cannot fail"},
	{"cuMemRelease", "a release cannot fail"},
	{"cuIpcCloseMemHandle", "a release cannot fail"},
	{"cuLinkDestroy", "a release cannot fail"},
	{"cuGraphDestroy", "a release cannot fail"},
	{"cuThreadExchangeStreamCaptureMode", "if it was needed, the call that follows fails"},
	{"cuEventDestroy", "a release cannot fail"},
	{"cuDeviceGetDefaultMemPool", "the driver's pool gives memory back sooner"},
	{"cuMemPoolSetAttribute", "the driver's pool gives memory back sooner"},
};

/* Answers that a public function understands, and what it says then. */
static const struct {
	const char *call;
	int code;
	kz_status st;
	const char *why;
} answers[] = {
	{"cuDeviceGetAttribute", 1, KZ_OK, "an older driver does not know the attribute: it is 0"},
	{"cuDeviceGetAttribute", 1, KZ_UNSUPPORTED, "this is what was asked"},
	{"cuPointerGetAttribute", 1, KZ_INVALID, "the address is that of no memory of the device"},
	{"cuCtxEnablePeerAccess", 704, KZ_OK, "the access is there already"},
	{"cuMemHostAlloc", 2, KZ_NO_MEMORY, "pinned memory is the host's"},
	{"cuIpcGetMemHandle", 1, KZ_UNSUPPORTED, "the driver cannot share this memory"},
	{"cuGraphClone", 801, KZ_OK, "the graph cannot be a child: only captures want that"},
	{"cuGraphExecUpdate", 910, KZ_INVALID, "the graph has changed too much: it says how"},
	{"cuEventQuery", 600, KZ_NOT_READY, "this is what was asked"},
	{"cuStreamQuery", 600, KZ_NOT_READY, "this is what was asked"},
};

static bool is_silent(const char *call)
{
	for (size_t at = 0; at < countof(silent); at++) {
		if (strcmp(silent[at].call, call) == 0) {
			return true;
		}
	}
	return false;
}

/* The stub's kernels compute nothing, and a function may refuse what it finds then. */
static bool is_success(kz_status st)
{
	return st == KZ_OK || (st == KZ_NUMERIC && error.domain == KZ_DOMAIN_LIBRARY);
}

/* Of so many codes one after the other some are tried, others with other functions. */
enum { CODES_TRIED = 30 };

/* Calls of the driver that the row's function makes, in the order of cuda.def. */
struct reached {
	const char *names[countof(driver_calls)];
	int count;
};

static struct reached find_reached(int row)
{
	struct reached reached = {.count = 0};
	ck_assert_msg(open_world(row) == KZ_OK, "%s", error.message);
	kz_status st = rows[row].call();
	ck_assert_msg(is_success(st), "%s: %s", rows[row].name, error.message);
	for (size_t at = 0; at < countof(driver_calls); at++) {
		if (support_stub_calls(driver_calls[at]) > 0) {
			reached.names[reached.count++] = driver_calls[at];
		}
	}
	close_world(row, true);
	return reached;
}

static void check_error(int row, kz_status st, kz_domain domain, int number, const char *call)
{
	const char *name = rows[row].name;
	const struct native_code *code = codes_find(domain, number);
	kz_status want = code ? code->status : KZ_UNKNOWN;
	ck_assert_msg(st == want && error.status == want, "%s, %s: %d: expected status %d, got %d: "
		"%s", name, call, number, want, st, error.message);
	ck_assert_msg(error.domain == domain && error.code == number,
		"%s, %s: expected code %d, got %d: %s",
		name, call, number, error.code, error.message);
	ck_assert_msg(error.name == (code ? code->name : NULL), "%s, %s: %d: %s", name, call,
		number, error.name);
	ck_assert_msg(error.call && strcmp(error.call, call) == 0,
		"%s: %d: expected the call %s, got %s", name, number, call, error.call);
	ck_assert_msg(error.hint && error.hint[0], "%s, %s: %d: no advice", name, call, number);
	ck_assert_msg(error.message[0], "%s, %s: %d: no message", name, call, number);
}

static void fail_driver(int row, const char *call, int number)
{
	char script[100];
	ck_assert_msg(open_world(row) == KZ_OK, "%s", error.message);
	snprintf(script, sizeof(script), DEVICES ";fail=%s:%d", call, number);
	support_stub(script);
	kz_status st = rows[row].call();
	bool is_expected = false;
	for (size_t at = 0; at < countof(answers); at++) {
		is_expected |= answers[at].code == number && answers[at].st == st
			&& strcmp(answers[at].call, call) == 0;
	}
	if (is_silent(call) && is_success(st)) {
		is_expected = true;
	} else if (is_silent(call)) {
		/* The code said that the device is lost: the next call reports it. */
		ck_assert_msg(strstr(error.message, "was lost by an earlier failure"), "%s, %s: %s",
			rows[row].name, call, error.message);
	}
	if (!is_expected) {
		check_error(row, st, KZ_DOMAIN_DRIVER, number, call);
	}
	close_world(row, !is_silent(call) && !(rows[row].reaches & RELEASES));
}

/* A third of the codes by a sixth of the functions, each by one call; with KUDZU_TEST_SLOW each by
 * each call of each function.  4711 is not a code. */
START_TEST(each_code_of_the_driver_reaches_the_user)
{
	make_files();
	support_no_libraries();
	struct reached reached = find_reached(_i);
	ck_assert_msg((reached.count > 0) == ((rows[_i].reaches & DRIVER) != 0), "%s",
		rows[_i].name);
	int turn = _i;
	for (int number = 1; number < 4712 && reached.count > 0; number++) {
		number = number == 1000 ? 4711 : number;
		if (number < 1000 && !codes_find(KZ_DOMAIN_DRIVER, number)) {
			continue;
		}
		if (!support_is_tried((number + _i) % CODES_TRIED, CODES_TRIED, CODES_TRIED / 3,
			2)) {
			continue;
		}
		int count = support_how_many(reached.count, 1, 1);
		for (int at = 0; at < count; at++) {
			fail_driver(_i, reached.names[turn++ % reached.count], number);
		}
	}
	for (int at = 0; at < reached.count; at++) {
		fail_driver(_i, reached.names[at], CUDA_ERROR_UNKNOWN);
	}
	remove_files();
}
END_TEST

/* Failures of NVRTC */

/* The calls that a compile makes.  Until the one that fails, each succeeds and does nothing. */
enum nvrtc_call {
	CREATE, ADD_NAME, COMPILE, LOG_SIZE, LOG, PTX_SIZE, PTX, CUBIN_SIZE, CUBIN, LOWERED,
	NVRTC_CALLS
};

#define NVRTC_INTERNAL_ERROR 11

static const char *const nvrtc_calls[NVRTC_CALLS] = {"nvrtcCreateProgram", "nvrtcAddNameExpression",
	"nvrtcCompileProgram", "nvrtcGetProgramLogSize", "nvrtcGetProgramLog", "nvrtcGetPTXSize",
	"nvrtcGetPTX", "nvrtcGetCUBINSize", "nvrtcGetCUBIN", "nvrtcGetLoweredName"};

static struct {
	enum nvrtc_call failing;
	int code;
	long counts[NVRTC_CALLS];
} script;

static nvrtcResult scripted(enum nvrtc_call call)
{
	script.counts[call]++;
	return call == script.failing ? script.code : 0;
}

#define SIZED(name, size_name, CALL) \
	static nvrtcResult size_name(nvrtcProgram program, size_t *bytes) \
	{ \
		(void)program; \
		*bytes = 2; \
		return scripted(CALL##_SIZE); \
	} \
	static nvrtcResult name(nvrtcProgram program, char *to) \
	{ \
		(void)program; \
		memcpy(to, "x", 2); \
		return scripted(CALL); \
	}
SIZED(get_log, get_log_size, LOG)
SIZED(get_ptx, get_ptx_size, PTX)
SIZED(get_cubin, get_cubin_size, CUBIN)

static nvrtcResult create_program(nvrtcProgram *program, const char *source, const char *name,
	int count, const char *const *headers, const char *const *names)
{
	(void)source, (void)name, (void)count, (void)headers, (void)names;
	*program = (nvrtcProgram)&script;
	return scripted(CREATE);
}

static nvrtcResult destroy_program(nvrtcProgram *program)
{
	*program = NULL;
	return 0;
}

static nvrtcResult add_name(nvrtcProgram program, const char *name)
{
	(void)program, (void)name;
	return scripted(ADD_NAME);
}

static nvrtcResult compile_program(nvrtcProgram program, int count, const char *const *options)
{
	(void)program, (void)count, (void)options;
	return scripted(COMPILE);
}

static nvrtcResult get_lowered(nvrtcProgram program, const char *name, const char **lowered)
{
	(void)program;
	*lowered = name;
	return scripted(LOWERED);
}

/* The table of NVRTC that the library uses. */
static struct nvrtc *nvrtc_table(void)
{
	const struct nvrtc *table;
	ck_assert_msg(nvrtc_open(&table, err) == KZ_OK, "%s", error.message);
	return (struct nvrtc *)table;
}

static void put_nvrtc(void)
{
	struct nvrtc *table = nvrtc_table();
	table->CreateProgram = create_program;
	table->DestroyProgram = destroy_program;
	table->AddNameExpression = add_name;
	table->CompileProgram = compile_program;
	table->GetProgramLogSize = get_log_size;
	table->GetProgramLog = get_log;
	table->GetPTXSize = get_ptx_size;
	table->GetPTX = get_ptx;
	table->GetCUBINSize = get_cubin_size;
	table->GetCUBIN = get_cubin;
	table->GetLoweredName = get_lowered;
}

/* With the real NVRTC for what the call works on, the scripted one for the call. */
static kz_status call_with_nvrtc(int row, enum nvrtc_call failing, int code)
{
	const struct nvrtc real_table = *nvrtc_table();
	ck_assert_msg(open_world(row) == KZ_OK, "%s", error.message);
	memset(&script, 0, sizeof(script));
	script.failing = failing;
	script.code = code;
	put_nvrtc();
	kz_status st = rows[row].call();
	*nvrtc_table() = real_table;
	return st;
}

START_TEST(each_code_of_nvrtc_reaches_the_user)
{
	enum nvrtc_call calls[NVRTC_CALLS];
	int count = 0, turn = _i;
	/* What the world needs is in a cache that nothing else goes into: calls that fail leave
	 * nothing. */
	setenv("KUDZU_CACHE", "1", 1);
	setenv("KUDZU_CACHE_DIR", KZ_TEST_BUILD "/failures-cache", 1);
	make_files();
	support_no_libraries();
	/* After this failure the others are called, too, and nothing is kept. */
	(void)call_with_nvrtc(_i, PTX, NVRTC_INTERNAL_ERROR);
	close_world(_i, true);
	for (int call = 0; call < NVRTC_CALLS; call++) {
		if (script.counts[call] > 0) {
			calls[count++] = (enum nvrtc_call)call;
		}
	}
	ck_assert_msg((count > 0) == ((rows[_i].reaches & NVRTC) != 0), "%s", rows[_i].name);
	for (int code = 1; code < 30 && count > 0; code++) {
		if (code > 1 && !support_is_tried((code + _i) % CODES_TRIED, CODES_TRIED, 3, 2)) {
			continue;
		}
		for (int at = 0; at < (code == 1 ? count : support_how_many(count, 1, 1)); at++) {
			enum nvrtc_call call = calls[turn++ % count];
			kz_status st = call_with_nvrtc(_i, call, code);
			check_error(_i, st, KZ_DOMAIN_NVRTC, code, nvrtc_calls[call]);
			close_world(_i, true);
		}
	}
	remove_files();
}
END_TEST

/* The table is complete */

static bool is_listed(const char *name)
{
	static const struct {
		const char *name;
		const char *why;
	} listed[] = {
#define CALLS(function, reaches, arguments) {#function, ""},
#define NEVER(function, why) {#function, why},
#include "failures.def"
#undef CALLS
#undef NEVER
	};
	int count = 0;
	for (size_t at = 0; at < countof(listed); at++) {
		count += strcmp(listed[at].name, name) == 0;
	}
	return count == 1;
}

/* Those of a header that take a kz_error to fill in. */
static int check_header(const char *header)
{
	int count = 0;
	for (const char *at = header; (at = strstr(at, "\nKZ_API KZ_NODISCARD kz_status ")); at++) {
		char name[80];
		const char *from = strstr(at, "kz_status ") + strlen("kz_status ");
		const char *end = strchr(from, ';'), *taken = strstr(from, "kz_error *err");
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(from, "("), from);
		ck_assert_msg(!taken || taken > end || is_listed(name),
			"expected %s in tests/whole/failures.def, once", name);
		count += taken && taken < end;
	}
	return count;
}

START_TEST(each_public_function_is_in_the_table)
{
	int count = 0, listed = 0;
	DIR *folder = opendir(KZ_TEST_DIR "/../include/kudzu");
	ck_assert_ptr_nonnull(folder);
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		char path[512], *header;
		size_t bytes;
		snprintf(path, sizeof(path), KZ_TEST_DIR "/../include/kudzu/%s", entry->d_name);
		if (entry->d_name[0] != '.') {
			ck_assert_msg(file_read(&header, &bytes, path, err) == KZ_OK, "%s",
				error.message);
			count += check_header(header);
			mem_free(header);
		}
	}
	closedir(folder);
#define CALLS(function, reaches, arguments) listed++;
#define NEVER(function, why) listed++;
#include "failures.def"
#undef CALLS
#undef NEVER
	ck_assert_int_eq(count, listed);
}
END_TEST

/* Before there is a device: what drv_open calls. */
static const char *const first_calls[] = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount"};

START_TEST(each_code_of_the_first_calls_reaches_the_user)
{
	for (int number = 1; number < 1000; number++) {
		char text_of[64];
		const struct native_code *code = codes_find(KZ_DOMAIN_DRIVER, number);
		snprintf(text_of, sizeof(text_of), "fail=%s:%d", first_calls[_i], number);
		support_stub(text_of);
		if (code && code->number != CUDA_ERROR_STUB_LIBRARY) {
			kz_status st = kz_device_open(&made.device, "cuda:0", err);
			ck_assert_int_eq(st, code->status);
			ck_assert_int_eq(error.code, number);
			ck_assert_str_eq(error.name, code->name);
			ck_assert_str_eq(error.call, first_calls[_i]);
			ck_assert(error.hint && error.hint[0]);
			kz_error_clear(err);
		}
	}
}
END_TEST

SUITE(failures)
{
	Suite *suite = suite_create("failures");
	TCase *tc = suite_add_case(suite, "driver");
	tcase_add_sample(tc, each_code_of_the_driver_reaches_the_user, countof(rows),
		countof(rows) / 6, 25);
	tcase_add_tests(tc, countof(first_calls), each_code_of_the_first_calls_reaches_the_user);
	tc = suite_add_case(suite, "nvrtc");
	tcase_add_sample(tc, each_code_of_nvrtc_reaches_the_user, countof(rows), 40, 12);
	tc = suite_add_case(suite, "table");
	tcase_add_test(tc, each_public_function_is_in_the_table);
	return suite;
}
