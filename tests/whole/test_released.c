/* SPDX-License-Identifier: MIT */
/* src/lib/core/object.c, through the library: handles that were released, and handles of another
 * kind. */
#include "base/common.h"

#include "support/device_test.h"

#include <kudzu/kudzu.h>

#include <check.h>
#include <string.h>

static const char plain[] = "__global__ void add_one(int *x) { x[threadIdx.x] += 1; }";
static const char with_variable[] = "__device__ int step = 1;\n"
	"__global__ void add_one(int *x) { x[threadIdx.x] += step; }";

static kz_array *ints(int count)
{
	kz_array *array = NULL;
	ok(kz_array_zeros(&array, dev, KZ_I32, KZ_SHAPE(count), &err));
	return array;
}

/* Objects of every kind, each released once by the second function. */

static void *make_array(void)
{
	return ints(3);
}

static void *make_buffer(void)
{
	return create_buffer(64);
}

static void *make_view(void)
{
	kz_buffer *buffer = create_buffer(64), *view = NULL;
	ok(kz_buffer_view(&view, buffer, 8, 8, &err));
	kz_buffer_release(buffer);
	return view;
}

static void *make_managed(void)
{
	kz_buffer *buffer = NULL;
	ok(kz_managed_create(&buffer, dev, 64, &err));
	return buffer;
}

static void *make_pinned_buffer(void)
{
	kz_pinned *pinned = NULL;
	kz_buffer *buffer = NULL;
	ok(kz_pinned_create(&pinned, dev, 64, &err));
	ok(kz_pinned_buffer(&buffer, pinned, &err));
	kz_pinned_release(pinned);
	return buffer;
}

static void *make_node_buffer(void)
{
	kz_graph *graph = NULL;
	kz_buffer *buffer = NULL;
	ok(kz_graph_create(&graph, dev, &err));
	ok(kz_graph_add_alloc(NULL, &buffer, graph, KZ_AFTER(), 64, &err));
	kz_graph_release(graph);
	return buffer;
}

static void *make_stream(void)
{
	kz_stream *stream = NULL;
	ok(kz_stream_create(&stream, dev, 0, &err));
	return stream;
}

static void *make_event(void)
{
	kz_event *event = NULL;
	ok(kz_event_create(&event, dev, &err));
	return event;
}

static void *make_pinned(void)
{
	kz_pinned *pinned = NULL;
	ok(kz_pinned_create(&pinned, dev, 64, &err));
	return pinned;
}

static void *make_image(void)
{
	kz_image *image = NULL;
	ok(kz_image_create(&image, ".version 7.0\n.target sm_70\n.address_size 64\n", 45, &err));
	return image;
}

static void *make_elementwise(void)
{
	kz_elementwise *kernel = NULL;
	ok(kz_elementwise_create(&kernel, dev, "int *x", "x[i] = 1", NULL, &err));
	return kernel;
}

static void *make_reduction(void)
{
	kz_reduction *kernel = NULL;
	ok(kz_reduction_create(&kernel, dev, KZ_I32, "0", "a + b", "x[i]", "const int *x", NULL,
		&err));
	return kernel;
}

static void *make_npz(void)
{
	static const char empty[22] = "PK\5\6";
	kz_npz *npz = NULL;
	ok(kz_npz_open_memory(&npz, empty, sizeof(empty), &err));
	return npz;
}

static void *make_graph(void)
{
	kz_graph *graph = NULL;
	ok(kz_graph_create(&graph, dev, &err));
	return graph;
}

static void *make_exec(void)
{
	kz_graph *graph = make_graph();
	kz_exec *exec = NULL;
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	return exec;
}

static void *make_cuda_array(void)
{
	kz_cuda_array *texels = NULL;
	kz_cuda_array_options how = KZ_CUDA_ARRAY_OPTIONS_INIT;
	how.surface = 1;
	ok(kz_cuda_array_create(&texels, dev, KZ_F32, KZ_SHAPE(4), &how, &err));
	return texels;
}

static void *make_texture(void)
{
	kz_cuda_array *texels = make_cuda_array();
	kz_texture *texture = NULL;
	ok(kz_texture_create(&texture, texels, NULL, &err));
	kz_cuda_array_release(texels);
	return texture;
}

static void *make_surface(void)
{
	kz_cuda_array *texels = make_cuda_array();
	kz_surface *surface = NULL;
	ok(kz_surface_create(&surface, texels, 0, &err));
	kz_cuda_array_release(texels);
	return surface;
}

static void *make_diagnostics(void)
{
	kz_diagnostics *list = NULL;
	ok(kz_diagnostics_create(&list, "k.cu:1:1: error: no\n", &err));
	return list;
}

static void *make_diagnosis(void)
{
	kz_diagnosis *diagnosis = NULL;
	ok(kz_diagnose(&diagnosis, &err));
	return diagnosis;
}

static void *make_watcher(void)
{
	kz_watcher *watcher = NULL;
	ok(kz_watcher_create(&watcher, dev, "none.cu", NULL, &err));
	return watcher;
}

static void *make_prepared(void)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_prepared *prepared = NULL;
	kz_array *a = ints(1);
	ok(kz_module_compile(&mod, dev, plain, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "add_one", &err));
	ok(kz_prepared_create(&prepared, kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err,
		KZ_ARGS(a)));
	kz_array_release(a);
	kz_module_release(mod);
	return prepared;
}

static void *make_tuning(void)
{
	static const int64_t threads[] = {1};
	static const kz_tune_parameter blocks = {KZ_TUNE_BLOCK_X, 0, NULL, 1, threads, NULL};
	kz_tunable tunable = KZ_TUNABLE_INIT;
	kz_tuning *tuning = NULL;
	kz_array *a = ints(1);
	tunable.source = plain;
	tunable.kernel = "add_one";
	tunable.parameters = &blocks;
	tunable.parameter_count = 1;
	ok(kz_tune(&tuning, dev, &tunable, kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(a)));
	kz_array_release(a);
	return tuning;
}

static void *make_sparse(void)
{
	kz_sparse *sparse = NULL;
	kz_sparse_options how = KZ_SPARSE_OPTIONS_INIT;
	kz_array *data = NULL, *places = ints(3);
	how.trusted = 1;
	ok(kz_array_zeros(&data, dev, KZ_F32, KZ_SHAPE(3), &err));
	ok(kz_sparse_create_coo(&sparse, 3, 3, data, places, places, &how, &err));
	release_arrays(data, places);
	return sparse;
}

/* Each uses a handle in a call that must tell. */

static kz_status use_array(void *array)
{
	char host[12];
	ck_assert_int_eq(kz_array_count(array), 0);
	ck_assert_ptr_null(kz_array_device(array));
	return kz_array_get(array, host, sizeof(host), &err);
}

static kz_status use_buffer(void *buffer)
{
	char host[8];
	ck_assert_uint_eq(kz_buffer_address(buffer), 0);
	return kz_copy_dtoh(host, sizeof(host), buffer, 0, &err);
}

static kz_status use_stream(void *stream)
{
	ck_assert_ptr_null(kz_stream_handle(stream));
	return kz_stream_synchronize(stream, &err);
}

static kz_status use_event(void *event)
{
	return kz_event_synchronize(event, &err);
}

static kz_status use_image(void *image)
{
	kz_module *mod = NULL;
	ck_assert_ptr_null(kz_image_data(image, NULL));
	return kz_module_load_image(&mod, dev, image, &err);
}

static kz_status use_elementwise(void *kernel)
{
	return kz_elementwise_run(kernel, NULL, &err, KZ_ARGS(1));
}

static kz_status use_reduction(void *kernel)
{
	kz_array *out = NULL;
	return kz_reduction_run(&out, kernel, NULL, &err, KZ_ARGS(1));
}

static kz_status use_npz(void *npz)
{
	kz_array *out = NULL;
	ck_assert_int_eq(kz_npz_count(npz), 0);
	return kz_npz_load(&out, npz, dev, "one", 0, &err);
}

static kz_status use_graph(void *graph)
{
	kz_exec *exec = NULL;
	ck_assert_ptr_null(kz_graph_node(graph, "copy"));
	return kz_graph_instantiate(&exec, graph, &err);
}

static kz_status use_exec(void *exec)
{
	return kz_exec_launch(exec, NULL, &err);
}

static kz_status use_cuda_array(void *texels)
{
	kz_texture *texture = NULL;
	kz_copy_3d_options box = KZ_COPY_3D_OPTIONS_INIT;
	float texel;
	box.to.texels = texels;
	box.from.host = &texel;
	box.from.host_size = sizeof(texel);
	box.width = sizeof(texel);
	fails(kz_copy_3d(&box, &err), KZ_INVALID, "expected a CUDA array, got a CUDA array that "
		"was released");
	return kz_texture_create(&texture, texels, NULL, &err);
}

static kz_status use_watcher(void *watcher)
{
	return kz_watcher_poll(NULL, watcher, &err);
}

static kz_status use_prepared(void *prepared)
{
	return kz_prepared_launch(prepared, NULL, &err);
}

static kz_status use_tuning(void *tuning)
{
	ck_assert_int_eq(kz_tuning_count(tuning), 0);
	ck_assert_ptr_null(kz_tuning_kernel(tuning));
	return kz_tuning_launch(tuning, kz_dim(1, 1, 1), NULL, &err, KZ_ARGS());
}

static kz_status use_sparse(void *sparse)
{
	kz_array *out = NULL;
	return kz_sparse_to_dense(&out, sparse, NULL, &err);
}

#define RELEASE(kind) \
	static void release_##kind(void *handle) \
	{ \
		kz_##kind##_release(handle); \
	}
RELEASE(array)
RELEASE(buffer)
RELEASE(stream)
RELEASE(event)
RELEASE(pinned)
RELEASE(image)
RELEASE(elementwise)
RELEASE(reduction)
RELEASE(graph)
RELEASE(exec)
RELEASE(cuda_array)
RELEASE(texture)
RELEASE(surface)
RELEASE(diagnostics)
RELEASE(diagnosis)
RELEASE(prepared)
RELEASE(watcher)
RELEASE(tuning)
RELEASE(sparse)

static void release_npz(void *handle)
{
	kz_npz_close(handle);
}

static const struct {
	const char *name; /* with its article */
	void *(*make)(void);
	void (*release)(void *handle);
	kz_status (*use)(void *handle); /* NULL: no call of this kind fails */
} kinds[] = {
	{"an array", make_array, release_array, use_array},
	{"a buffer", make_buffer, release_buffer, use_buffer},
	{"a buffer", make_view, release_buffer, use_buffer},
	{"a buffer", make_managed, release_buffer, use_buffer},
	{"a buffer", make_pinned_buffer, release_buffer, use_buffer},
	{"a buffer", make_node_buffer, release_buffer, use_buffer},
	{"a stream", make_stream, release_stream, use_stream},
	{"an event", make_event, release_event, use_event},
	{"a pinned buffer", make_pinned, release_pinned, NULL},
	{"an image", make_image, release_image, use_image},
	{"a .npz file", make_npz, release_npz, use_npz},
	{"a graph", make_graph, release_graph, use_graph},
	{"an executable graph", make_exec, release_exec, use_exec},
	{"a CUDA array", make_cuda_array, release_cuda_array, use_cuda_array},
	{"a texture", make_texture, release_texture, NULL},
	{"a surface", make_surface, release_surface, NULL},
	{"a list of diagnostics", make_diagnostics, release_diagnostics, NULL},
	{"a diagnosis", make_diagnosis, release_diagnosis, NULL},
	{"a sparse matrix", make_sparse, release_sparse, use_sparse},
	{"a watcher", make_watcher, release_watcher, use_watcher},
	{"a prepared launch", make_prepared, release_prepared, use_prepared},
	{"an elementwise kernel", make_elementwise, release_elementwise, use_elementwise},
	{"a reduction kernel", make_reduction, release_reduction, use_reduction},
	{"a tuning", make_tuning, release_tuning, use_tuning},
};

enum { KERNEL_KINDS = 4 };

static void release_twice_and_use(size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		char message[100];
		void *handle = kinds[i].make();
		kinds[i].release(handle);
		kinds[i].release(handle);
		snprintf(message, sizeof(message), "expected %s, got %s that was released",
			kinds[i].name, kinds[i].name);
		if (kinds[i].use) {
			fails(kinds[i].use(handle), KZ_INVALID, message);
		}
	}
}

DEVICE_TEST(a_released_handle_is_refused_and_its_second_release_does_nothing)
{
	release_twice_and_use(0, countof(kinds) - KERNEL_KINDS);
	kz_pinned *pinned = make_pinned();
	kz_pinned_release(pinned);
	ck_assert_ptr_null(kz_pinned_pointer(pinned));
}

DEVICE_TEST(released_lists_are_empty)
{
	kz_diagnostics *list = make_diagnostics();
	kz_diagnosis *diagnosis = make_diagnosis();
	ck_assert_int_eq(kz_diagnostics_count(list), 1);
	ck_assert_int_gt(kz_diagnosis_count(diagnosis), 0);
	kz_diagnostics_release(list);
	kz_diagnosis_release(diagnosis);
	ck_assert_int_eq(kz_diagnostics_count(list), 0);
	ck_assert_ptr_null(kz_diagnostics_get(list, 0));
	ck_assert_int_eq(kz_diagnosis_count(diagnosis), 0);
	ck_assert_ptr_null(kz_diagnosis_finding(diagnosis, 0));
	ck_assert_int_eq(kz_diagnosis_usable(diagnosis), 0);
}

DEVICE_TEST(a_released_graph_ends_its_nodes_but_not_what_was_made_of_it)
{
	kz_graph *graph = make_graph(), *body = NULL;
	kz_exec *exec = NULL;
	kz_node *outer = NULL, *inner = NULL;
	kz_buffer *buffer = create_buffer(4);
	uint64_t condition = 0;
	const uint8_t seven = 7, eight = 8;
	ok(kz_graph_condition(&condition, graph, 1, &err));
	ok(kz_graph_add_fill(&outer, graph, KZ_AFTER(), buffer, 0, 4, &seven, 1, &err));
	ok(kz_graph_add_if(NULL, &body, NULL, graph, KZ_AFTER(outer), condition, &err));
	ok(kz_graph_add_fill(&inner, body, KZ_AFTER(), buffer, 0, 4, &eight, 1, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(body); /* it belongs to its graph */
	ck_assert_str_eq(kz_node_name(inner), "fill");
	kz_graph_release(graph);
	kz_graph_release(graph); /* the executable graph keeps it */
	for (int i = 0; i < 2; i++) {
		ck_assert_str_eq(kz_node_name(outer), "");
		fails(kz_node_set_name(inner, "x", &err), KZ_INVALID,
			"expected a node, got a node that was released");
		fails(kz_graph_add_fill(NULL, body, KZ_AFTER(), buffer, 0, 4, &seven, 1, &err),
			KZ_INVALID, "expected a graph, got a graph that was released");
		if (i == 0) {
			ok(kz_exec_launch(exec, NULL, &err));
			kz_exec_release(exec); /* and with it the graph */
		}
	}
	kz_buffer_release(buffer);
}

DEVICE_TEST(a_node_of_a_released_graph_is_no_place_to_come_after)
{
	kz_graph *graph = make_graph(), *other = make_graph();
	kz_node *node = NULL;
	kz_buffer *buffer = create_buffer(4);
	const uint8_t seven = 7;
	ok(kz_graph_add_fill(&node, graph, KZ_AFTER(), buffer, 0, 4, &seven, 1, &err));
	kz_graph_release(graph);
	fails(kz_graph_add_fill(NULL, other, KZ_AFTER(node), buffer, 0, 4, &seven, 1, &err),
		KZ_INVALID, "expected a node, got a node that was released");
	fails(kz_graph_add_child(NULL, other, KZ_AFTER(), graph, &err), KZ_INVALID,
		"expected a graph, got a graph that was released");
	kz_graph_release(other);
	kz_buffer_release(buffer);
}

KERNEL_TEST(a_released_exec_goes_on_in_the_graph_that_captured_it)
{
	kz_graph *graph = make_graph(), *outer = NULL;
	kz_exec *exec = NULL, *whole = NULL;
	kz_stream *stream = make_stream();
	kz_buffer *buffer = create_buffer(4);
	const uint8_t seven = 7;
	uint8_t got[4] = {0};
	ok(kz_graph_add_fill(NULL, graph, KZ_AFTER(), buffer, 0, 4, &seven, 1, &err));
	ok(kz_graph_instantiate(&exec, graph, &err));
	kz_graph_release(graph);
	ok(kz_graph_begin(stream, NULL, &err));
	ok(kz_exec_launch(exec, stream, &err));
	kz_exec_release(exec);
	kz_exec_release(exec);
	ok(kz_graph_end(&outer, stream, &err));
	ok(kz_graph_instantiate(&whole, outer, &err));
	ok(kz_exec_launch(whole, NULL, &err));
	ok(kz_copy_dtoh(got, sizeof(got), buffer, 0, &err));
	ck_assert_int_eq(got[3], 7);
	kz_exec_release(whole);
	kz_graph_release(outer);
	kz_stream_release(stream);
	kz_buffer_release(buffer);
}

DEVICE_TEST(a_handle_of_another_kind_is_refused_and_not_released)
{
	kz_array *a = ints(3);
	fails(use_buffer(a), KZ_INVALID, "expected a buffer, got an array");
	fails(use_array(kz_array_buffer(a)), KZ_INVALID, "expected an array, got a buffer");
	fails(use_array(dev), KZ_INVALID, "expected an array, got a device");
	uint64_t bytes[100] = {3};
	fails(use_array(bytes), KZ_INVALID,
		"expected an array, got something that is not a Kudzu object");
	kz_buffer_release((kz_buffer *)a);
	kz_device_close((kz_device *)a);
	kz_array_release((kz_array *)bytes);
	ck_assert_int_eq(kz_array_count(a), 3);
	kz_array_release(a);
}

DEVICE_TEST(a_released_array_stays_known_while_hundreds_are_made)
{
	kz_array *a = ints(3), *b = ints(3);
	kz_array_release(a);
	for (int i = 0; i < 120; i++) { /* each ends two objects: an array and its memory */
		kz_array_release(ints(1 + i));
		kz_array_release(a);
	}
	fails(use_array(a), KZ_INVALID, "an array that was released");
	ck_assert_int_eq(kz_array_count(b), 3);
	kz_array_release(b);
}

DEVICE_TEST(a_buffer_is_released_by_its_owner_alone)
{
	kz_buffer *buffer = create_buffer(16);
	kz_array *a = NULL, *b = ints(4);
	int32_t got[4];
	ok(kz_array_wrap(&a, buffer, KZ_I32, KZ_SHAPE(4), NULL, 0, &err));
	kz_buffer_release(buffer);
	kz_buffer_release(buffer); /* the array needs it yet */
	ok(kz_array_get(a, got, sizeof(got), &err));
	kz_buffer_release(kz_array_buffer(b)); /* borrowed */
	ok(kz_array_get(b, got, sizeof(got), &err));
	release_arrays(a, b);
}

DEVICE_TEST(a_stream_that_memory_needs_yet_is_released_once)
{
	kz_stream *stream = make_stream();
	kz_array *a = ints(4);
	int32_t got[4];
	ok(kz_array_get_async(a, got, sizeof(got), stream, &err));
	kz_stream_release(stream);
	kz_stream_release(stream);
	kz_stream_release(kz_device_stream(dev));
	ok(kz_array_get(a, got, sizeof(got), &err));
	kz_array_release(a);
}

KERNEL_TEST(released_arrays_and_buffers_are_no_arguments)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_array *a = ints(3), *b = ints(3), *c = NULL;
	kz_buffer *buffer = create_buffer(64);
	ok(kz_module_compile(&mod, dev, plain, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "add_one", &err));
	ok(kz_add(&c, b, 1, &err)); /* the next call like it takes the short way */
	kz_array_release(a);
	kz_buffer_release(buffer);
	const kz_dim3 one = {1, 1, 1};
	fails(kz_launch(kernel, one, one, NULL, &err, KZ_ARGS(a)), KZ_INVALID,
		"argument 1 of 'add_one': expected an array, got an array that was released");
	fails(kz_launch(kernel, one, one, NULL, &err, KZ_ARGS(KZ_STRIDED(a))), KZ_INVALID,
		"argument 1 of 'add_one': expected an array, got an array that was released");
	fails(kz_launch(kernel, one, one, NULL, &err, KZ_ARGS(buffer)), KZ_INVALID,
		"argument 1 of 'add_one': expected a buffer, got a buffer that was released");
	kz_array_release(c);
	fails(kz_add(&c, a, 1, &err), KZ_INVALID, "expected an array, got an array that was");
	fails(kz_add(&c, b, a, &err), KZ_INVALID, "expected an array, got an array that was");
	fails(kz_apply_into(a, KZ_OP_ADD, &err, KZ_ARGS(b, 1)), KZ_INVALID,
		"expected an array, got an array that was released");
	kz_array_release(b);
	kz_module_release(mod);
}

KERNEL_TEST(released_textures_and_surfaces_are_no_arguments)
{
	static const char source[] = "__global__ void read(cudaTextureObject_t t, float *to)\n"
		"{ *to = tex1D<float>(t, 0); }\n"
		"__global__ void write(cudaSurfaceObject_t s) { surf1Dwrite(1.0f, s, 0); }\n";
	const kz_dim3 one = {1, 1, 1};
	kz_module *mod = NULL;
	kz_kernel *reads = NULL, *writes = NULL;
	kz_texture *texture = make_texture();
	kz_surface *surface = make_surface();
	kz_array *a = ints(1);
	ok(kz_module_compile(&mod, dev, source, NULL, &err));
	ok(kz_module_kernel(&reads, mod, "read", &err));
	ok(kz_module_kernel(&writes, mod, "write", &err));
	kz_texture_release((kz_texture *)surface);
	kz_surface_release((kz_surface *)texture);
	ok(kz_launch(reads, one, one, NULL, &err, KZ_ARGS(texture, kz_array_buffer(a))));
	ok(kz_launch(writes, one, one, NULL, &err, KZ_ARGS(surface)));
	fails(kz_launch(writes, one, one, NULL, &err, KZ_ARGS((kz_texture *)surface)), KZ_INVALID,
		"argument 1 of 'write': expected a texture, got a surface");
	kz_texture_release(texture);
	kz_surface_release(surface);
	fails(kz_launch(reads, one, one, NULL, &err, KZ_ARGS(texture, kz_array_buffer(a))),
		KZ_INVALID, "argument 1 of 'read': expected a texture, got a texture that was "
		"released");
	fails(kz_launch(writes, one, one, NULL, &err, KZ_ARGS(surface)), KZ_INVALID,
		"argument 1 of 'write': expected a surface, got a surface that was released");
	kz_array_release(a);
	kz_module_release(mod);
}

static void check_kernels(const char *source)
{
	kz_module *first = NULL, *second = NULL;
	kz_kernel *kernel = NULL, *again = NULL;
	kz_array *a = ints(1);
	const kz_dim3 one = {1, 1, 1};
	ok(kz_module_compile(&first, dev, source, NULL, &err));
	ok(kz_module_kernel(&kernel, first, "add_one", &err));
	ok(kz_module_compile(&second, dev, source, NULL, &err));
	kz_module_release(first);
	ok(kz_module_kernel(&again, second, "add_one", &err));
	ok(kz_launch(again, one, one, NULL, &err, KZ_ARGS(a)));
	kz_module_release(second);
	kz_module_release(second);
	kz_module_release(first);
	fails(kz_launch(again, one, one, NULL, &err, KZ_ARGS(a)), KZ_INVALID,
		"expected a kernel, got a kernel of a module that was released");
	fails(kz_launch_1d(kernel, 1, NULL, &err, KZ_ARGS(a)), KZ_INVALID, "that was released");
	fails(kz_module_kernel(&kernel, first, "add_one", &err), KZ_INVALID,
		"expected a module, got a module that was released");
	ok(kz_module_compile(&first, dev, source, NULL, &err));
	ok(kz_module_kernel(&kernel, first, "add_one", &err));
	ok(kz_launch(kernel, one, one, NULL, &err, KZ_ARGS(a)));
	int32_t got = 0;
	ok(kz_array_get(a, &got, sizeof(got), &err));
	ck_assert_int_eq(got, 2);
	kz_module_release(first);
	kz_array_release(a);
}

KERNEL_TEST(a_kernel_of_a_released_module_is_refused)
{
	check_kernels(plain);
	check_kernels(with_variable);
}

KERNEL_TEST(a_kernel_of_one_line_is_released_once)
{
	release_twice_and_use(countof(kinds) - KERNEL_KINDS, countof(kinds));
}

KERNEL_TEST(a_variable_keeps_the_module_but_not_its_kernels)
{
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	kz_buffer *step = NULL;
	int32_t value = 0;
	ok(kz_module_compile(&mod, dev, with_variable, NULL, &err));
	ok(kz_module_kernel(&kernel, mod, "add_one", &err));
	ok(kz_module_global(&step, mod, "step", &err));
	kz_module_release(mod);
	kz_module_release(mod);
	ok(kz_copy_dtoh(&value, sizeof(value), step, 0, &err));
	ck_assert_int_eq(value, 1);
	fails(kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(1, 1, 1), NULL, &err, KZ_ARGS(NULL)),
		KZ_INVALID, "a kernel of a module that was released");
	kz_buffer_release(step);
}

START_TEST(a_device_is_closed_as_often_as_it_was_opened)
{
	err = (kz_error)KZ_ERROR_INIT;
	dev = support_open(_i);
	kz_array *a = ints(3);
	kz_device_close(dev);
	kz_device_close(dev); /* the array keeps the device */
	char host[12];
	ok(kz_array_get(a, host, sizeof(host), &err));
	kz_array_release(a);
	kz_device_close(dev);
	fails(kz_device_memory(dev, NULL, NULL, &err), KZ_INVALID,
		"expected a device, got a device that was released");
	ck_assert_str_eq(kz_device_name(dev), "");
	ck_assert_ptr_null(kz_device_stream(dev));
	kz_device *old = dev;
	dev = support_open(_i);
	ck_assert_ptr_ne(dev, old);
	kz_device_close(old);
	kz_array_release(ints(3));
	kz_device_close(dev);
}
END_TEST

SUITE(released)
{
	Suite *s = suite_create("released");
	TCase *tc = suite_add_case(s, "objects");
	tcase_add_tests(tc, support_device_count() + 1,
		a_released_handle_is_refused_and_its_second_release_does_nothing,
		released_lists_are_empty,
		a_released_graph_ends_its_nodes_but_not_what_was_made_of_it,
		a_node_of_a_released_graph_is_no_place_to_come_after,
		a_handle_of_another_kind_is_refused_and_not_released,
		a_released_array_stays_known_while_hundreds_are_made,
		a_buffer_is_released_by_its_owner_alone,
		a_stream_that_memory_needs_yet_is_released_once);
	tc = suite_add_case(s, "kernels");
	tcase_set_timeout(tc, 60);
	tcase_add_tests(tc, support_device_count(), released_arrays_and_buffers_are_no_arguments,
		released_textures_and_surfaces_are_no_arguments,
		a_released_exec_goes_on_in_the_graph_that_captured_it,
		a_kernel_of_a_released_module_is_refused, a_kernel_of_one_line_is_released_once,
		a_variable_keeps_the_module_but_not_its_kernels,
		a_device_is_closed_as_often_as_it_was_opened);
	return s;
}
