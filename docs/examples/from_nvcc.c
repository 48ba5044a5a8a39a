/* SPDX-License-Identifier: MIT */
/* Three programs of the CUDA runtime as programs of Kudzu; docs/from-nvcc.md shows the parts. */
#include <kudzu/kudzu.h>
#include <stdio.h>

enum { COUNT = 1000 };

/* part: saxpy-kernel */
static const char saxpy_source[] =
	"__global__ void saxpy(int n, float a, const float *x, float *y)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		y[i] += a * x[i];\n"
	"	}\n"
	"}\n";
/* part: end */

static kz_status run_saxpy(kz_device *dev, kz_error *err)
{
	float hx[COUNT], hy[COUNT];
	for (int i = 0; i < COUNT; i++) {
		hx[i] = (float)i;
		hy[i] = 1;
	}
	/* part: saxpy */
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	kz_buffer *x = NULL, *y = NULL;
	kz_status st;
	if ((st = kz_module_compile(&mod, dev, saxpy_source, NULL, err))
	    || (st = kz_module_kernel(&saxpy, mod, "saxpy", err))
	    || (st = kz_buffer_create(&x, dev, sizeof(hx), err))
	    || (st = kz_buffer_create(&y, dev, sizeof(hy), err))
	    || (st = kz_copy_htod(x, 0, hx, sizeof(hx), err))
	    || (st = kz_copy_htod(y, 0, hy, sizeof(hy), err))
	    || (st = kz_launch(saxpy, KZ_DIM((COUNT + 255) / 256), KZ_DIM(256), NULL,
			err, KZ_ARGS(COUNT, 2.0f, x, y)))
	    || (st = kz_copy_dtoh(hy, sizeof(hy), y, 0, err))) {
		/* err says what failed and where; the caller prints it */
	}
	kz_buffer_release(x);
	kz_buffer_release(y);
	kz_module_release(mod);
	/* part: end */
	if (!st) {
		printf("saxpy: %g %g ... %g\n", hy[0], hy[1], hy[COUNT - 1]);
	}
	return st;
}

/* part: lens-host */
struct lens {
	float scale;
	float shift;
	int32_t square;
};

static const char lens_source[] =
	"struct lens { float scale; float shift; int square; };\n"
	"__constant__ lens table[2];\n"
	"__global__ void look(float *a, int which)\n"
	"{\n"
	"	const lens &l = table[which];\n"
	"	float x = a[threadIdx.x] * l.scale + l.shift;\n"
	"	a[threadIdx.x] = l.square ? x * x : x;\n"
	"}\n"
	"__global__ void look_through(float *a, lens l)\n"
	"{\n"
	"	a[threadIdx.x] = a[threadIdx.x] * l.scale + l.shift;\n"
	"}\n";
/* part: end */

static kz_status run_lens(kz_device *dev, kz_error *err)
{
	float host[4] = {1, 2, 3, 4};
	kz_array *a = NULL;
	kz_module *mod = NULL;
	kz_kernel *look = NULL, *look_through = NULL;
	kz_status st;
	if ((st = kz_array_from(&a, dev, KZ_FROM(host), err))
	    || (st = kz_module_compile(&mod, dev, lens_source, NULL, err))
	    || (st = kz_module_kernel(&look, mod, "look", err))
	    || (st = kz_module_kernel(&look_through, mod, "look_through", err))) {
		goto out;
	}
	/* part: lens */
	struct lens table[2] = {{2, 0, 0}, {1, 1, 1}}, half = {0.5f, 0, 0};
	if ((st = kz_module_set_global(mod, "table", table, sizeof(table), err))
	    || (st = kz_launch(look, KZ_DIM(1), KZ_DIM(4), NULL, err, KZ_ARGS(a, 1)))
	    || (st = kz_launch(look_through, KZ_DIM(1), KZ_DIM(4), NULL, err,
			KZ_ARGS(a, KZ_VALUE(half))))) {
		/* ... */
	}
	/* part: end */
	st = st ? st : kz_array_get(a, host, sizeof(host), err);
	if (!st) {
		printf("lens: %g %g %g %g\n", host[0], host[1], host[2], host[3]);
	}
out:
	kz_array_release(a);
	kz_module_release(mod);
	return st;
}

/* part: lane */
/* Each stream has its own of everything: two streams that share something take turns. */
struct lane {
	kz_stream *stream;
	kz_event *begin, *end;
	kz_buffer *x, *y;
	kz_pinned *host;   /* the numbers of x, then those of y */
	double ms;
};

static kz_status lane_create(struct lane *lane, kz_device *dev, int64_t size, kz_error *err)
{
	kz_status st;
	if ((st = kz_stream_create(&lane->stream, dev, 0, err))
	    || (st = kz_event_create(&lane->begin, dev, err))
	    || (st = kz_event_create(&lane->end, dev, err))
	    || (st = kz_buffer_create_on(&lane->x, dev, size, lane->stream, err))
	    || (st = kz_buffer_create_on(&lane->y, dev, size, lane->stream, err))
	    || (st = kz_pinned_create(&lane->host, dev, 2 * size, err))) {
		return st;   /* the caller releases what there is */
	}
	return KZ_OK;
}

static kz_status lane_queue(struct lane *lane, kz_kernel *saxpy, int count, kz_error *err)
{
	const int64_t size = count * (int64_t)sizeof(float);
	float *x = kz_pinned_pointer(lane->host), *y = x + count;
	kz_status st;
	(void)((st = kz_event_record(lane->begin, lane->stream, err))
	    || (st = kz_copy_htod_async(lane->x, 0, x, size, lane->stream, err))
	    || (st = kz_copy_htod_async(lane->y, 0, y, size, lane->stream, err))
	    || (st = kz_launch_1d(saxpy, count, KZ_WITH(kz_launch_options,
			.stream = lane->stream), err, KZ_ARGS(count, 2.0f, lane->x, lane->y)))
	    || (st = kz_copy_dtoh_async(y, size, lane->y, 0, lane->stream, err))
	    || (st = kz_event_record(lane->end, lane->stream, err)));
	return st;
}

static kz_status lane_wait(struct lane *lane, kz_error *err)
{
	kz_status st = kz_event_synchronize(lane->end, err);
	return st ? st : kz_event_elapsed_ms(&lane->ms, lane->begin, lane->end, err);
}
/* part: end */

static void lane_release(struct lane *lane)
{
	kz_buffer_release(lane->x);
	kz_buffer_release(lane->y);
	kz_pinned_release(lane->host);
	kz_event_release(lane->begin);
	kz_event_release(lane->end);
	kz_stream_release(lane->stream);
}

static kz_status run_streams(kz_device *dev, kz_error *err)
{
	const int half = COUNT / 2;
	const int64_t size = half * (int64_t)sizeof(float);
	struct lane lanes[2] = {{NULL}};
	kz_module *mod = NULL;
	kz_kernel *saxpy = NULL;
	kz_status st;
	if ((st = kz_module_compile(&mod, dev, saxpy_source, NULL, err))
	    || (st = kz_module_kernel(&saxpy, mod, "saxpy", err))
	    || (st = lane_create(&lanes[0], dev, size, err))
	    || (st = lane_create(&lanes[1], dev, size, err))) {
		goto out;
	}
	float *first = kz_pinned_pointer(lanes[0].host), *second = kz_pinned_pointer(lanes[1].host);
	for (int i = 0; i < half; i++) {
		first[i] = (float)i;
		second[i] = (float)(i + half);
		first[half + i] = second[half + i] = 1;
	}
	(void)((st = lane_queue(&lanes[0], saxpy, half, err))
	    || (st = lane_queue(&lanes[1], saxpy, half, err))
	    || (st = lane_wait(&lanes[0], err)) || (st = lane_wait(&lanes[1], err)));
	if (!st) {
		printf("streams: %g ... %g, times measured: %s\n", first[half],
			second[COUNT - 1], lanes[0].ms >= 0 && lanes[1].ms >= 0 ? "yes" : "no");
	}
out:
	lane_release(&lanes[0]);
	lane_release(&lanes[1]);
	kz_module_release(mod);
	return st;
}

/* part: readers */
/* Two kernels that only read one buffer, in two streams: by its address they may overlap. */
static kz_status read_side_by_side(kz_kernel *total, kz_buffer *shared, kz_buffer *const *results,
	kz_stream *const *streams, int count, kz_error *err)
{
	kz_status st = kz_stream_synchronize(kz_device_stream(kz_buffer_device(shared)), err);
	for (int i = 0; i < 2 && !st; i++) {
		st = kz_launch(total, KZ_DIM(1), KZ_DIM(1),
			KZ_WITH(kz_launch_options, .stream = streams[i]), err,
			KZ_ARGS(KZ_DEVPTR(kz_buffer_address(shared)), results[i], count));
	}
	for (int i = 0; i < 2 && !st; i++) {
		st = kz_stream_synchronize(streams[i], err);   /* before `shared` is used or released */
	}
	return st;
}
/* part: end */

static kz_status run_readers(kz_device *dev, kz_error *err)
{
	const int numbers[4] = {1, 2, 3, 4};
	int sums[2] = {0, 0};
	kz_module *mod = NULL;
	kz_kernel *total = NULL;
	kz_buffer *shared = NULL, *results[2] = {NULL, NULL};
	kz_stream *streams[2] = {NULL, NULL};
	kz_status st;
	(void)((st = kz_module_compile(&mod, dev,
			"__global__ void total(const int *a, int *out, int n)\n"
			"{\n"
			"	*out = 0;\n"
			"	for (int i = 0; i < n; i++) {\n"
			"		*out += a[i];\n"
			"	}\n"
			"}\n", NULL, err))
	    || (st = kz_module_kernel(&total, mod, "total", err))
	    || (st = kz_buffer_create(&shared, dev, sizeof(numbers), err))
	    || (st = kz_copy_htod(shared, 0, numbers, sizeof(numbers), err))
	    || (st = kz_buffer_create(&results[0], dev, sizeof(int), err))
	    || (st = kz_buffer_create(&results[1], dev, sizeof(int), err))
	    || (st = kz_stream_create(&streams[0], dev, 0, err))
	    || (st = kz_stream_create(&streams[1], dev, 0, err))
	    || (st = read_side_by_side(total, shared, results, streams, 4, err))
	    || (st = kz_copy_dtoh(&sums[0], sizeof(int), results[0], 0, err))
	    || (st = kz_copy_dtoh(&sums[1], sizeof(int), results[1], 0, err)));
	if (!st) {
		printf("readers: %d %d\n", sums[0], sums[1]);
	}
	for (int i = 0; i < 2; i++) {
		kz_buffer_release(results[i]);
		kz_stream_release(streams[i]);
	}
	kz_buffer_release(shared);
	kz_module_release(mod);
	return st;
}

int main(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	int failed = kz_device_open(&dev, NULL, &err) || run_saxpy(dev, &err) || run_lens(dev, &err)
		|| run_streams(dev, &err) || run_readers(dev, &err);
	kz_error_print(&err, stderr);
	kz_error_clear(&err);
	kz_device_close(dev);
	return failed;
}
