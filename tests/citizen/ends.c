/* SPDX-License-Identifier: MIT */
/*
 * usage: ends early|late|destructor|first|quick|threads|elsewhere
 *
 * The ends of a program that has a device open and work in flight: what it releases in exit
 * handlers and in destructors, and what its other threads do meanwhile, is no crash and does not
 * hang.  tests/citizen/check runs it, many times.
 */
#define _GNU_SOURCE
#include <kudzu/kudzu.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 4096, LAUNCHES = 50, THREADS = 4 };

static const char source[] = "__global__ void add(int *a, int by) { a[blockIdx.x * 256 + "
	"threadIdx.x] += by; }";

static struct {
	kz_device *dev;
	kz_module *module;
	kz_kernel *add;
	kz_stream *stream;
	kz_array *array;
	int32_t expected;
	int is_checked; /* the contents, too */
} own;
static atomic_int rounds; /* of threads */

static void complain(int line, kz_error *err)
{
	fprintf(stderr, "ends.c:%d: ", line);
	kz_error_print(err, stderr);
	_exit(EXIT_FAILURE);
}

#define OK(call) ((call) ? complain(__LINE__, &err) : (void)0)

static void launch(int times)
{
	kz_error err = KZ_ERROR_INIT;
	kz_launch_options on = KZ_LAUNCH_OPTIONS_INIT;
	on.stream = own.stream;
	for (int i = 0; i < times; i++) {
		OK(kz_launch(own.add, kz_dim(COUNT / 256, 1, 1), kz_dim(256, 1, 1), &on, &err,
			KZ_ARGS(own.array, 1)));
	}
	own.expected += times;
}

static void begin(void)
{
	kz_error err = KZ_ERROR_INIT;
	OK(kz_device_open(&own.dev, "cpu", &err));
	OK(kz_module_compile(&own.module, own.dev, source, NULL, &err));
	OK(kz_module_kernel(&own.add, own.module, "add", &err));
	OK(kz_stream_create(&own.stream, own.dev, 0, &err));
	OK(kz_array_zeros(&own.array, own.dev, KZ_I32, KZ_SHAPE(COUNT), &err));
	launch(LAUNCHES);
}

/* A compile works, or is refused: what compiles may be gone. */
static void compile_late(void)
{
	kz_error err = KZ_ERROR_INIT;
	kz_image *image = NULL;
	kz_status st = kz_compile(&image, "__global__ void late(int *a) { a[1] = 2; }", NULL, &err);
	if (st && st != KZ_STATE) {
		complain(__LINE__, &err);
	}
	kz_image_release(image);
	kz_error_clear(&err);
}

static void end(void)
{
	kz_error err = KZ_ERROR_INIT;
	static int32_t host[COUNT];
	compile_late();
	if (own.is_checked) {
		launch(LAUNCHES);
		OK(kz_array_get(own.array, host, sizeof(host), &err));
		if (host[COUNT - 1] != own.expected) {
			fprintf(stderr, "ends.c: expected %d, got %d\n", own.expected,
				host[COUNT - 1]);
			_exit(EXIT_FAILURE);
		}
		launch(LAUNCHES);
	}
	kz_stream_release(own.stream);
	kz_array_release(own.array);
	kz_module_release(own.module);
	kz_device_close(own.dev);
}

/* Before main's own calls, and so after all handlers of libraries. */
static void early(void)
{
	own.is_checked = 1;
	atexit(end);
	begin();
}

static void late(void)
{
	own.is_checked = 1;
	begin();
	atexit(end);
}

static int is_destroyed;

__attribute__((destructor)) static void destroy(void)
{
	if (is_destroyed) {
		end();
	}
}

static void in_destructor(void)
{
	own.is_checked = 1;
	is_destroyed = 1;
	begin();
}

/* The first use of all is in a handler. */
static void begin_and_end(void)
{
	begin();
	end();
}

static void first(void)
{
	own.is_checked = 1;
	atexit(begin_and_end);
}

static void quick(void)
{
	own.is_checked = 1;
	begin();
	at_quick_exit(end);
	quick_exit(EXIT_SUCCESS);
}

/* Threads that launch, create, release and compile until the end of the process. */
static void *run_for_ever(void *number)
{
	for (int i = 0;; i++) {
		char text[128];
		int32_t host[256];
		kz_error err = KZ_ERROR_INIT;
		kz_module *module = NULL;
		kz_kernel *kernel = NULL;
		kz_array *array = NULL;
		snprintf(text, sizeof(text), "__global__ void k(int *a) { a[threadIdx.x] = %d; }",
			*(const int *)number * 1000 + i % 1000);
		/* While the process ends, calls may fail. */
		int failed = kz_module_compile(&module, own.dev, text, NULL, &err)
			|| kz_module_kernel(&kernel, module, "k", &err)
			|| kz_array_zeros(&array, own.dev, KZ_I32, KZ_SHAPE(256), &err)
			|| kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(256, 1, 1), NULL, &err,
				KZ_ARGS(array))
			|| kz_array_get(array, host, sizeof(host), &err);
		kz_array_release(array);
		kz_module_release(module);
		kz_error_clear(&err);
		atomic_fetch_add(&rounds, !failed);
	}
	return NULL;
}

static void start_threads(void)
{
	static const int numbers[THREADS] = {1, 2, 3, 4};
	pthread_t thread;
	begin();
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, run_for_ever, (void *)&numbers[i])) {
			_exit(EXIT_FAILURE);
		}
	}
	while (atomic_load(&rounds) < 2 * THREADS) {
		usleep(100);
	}
}

static void *leave(void *unused)
{
	exit(EXIT_SUCCESS);
	return unused;
}

/* Another thread ends the process, this one waits for the device. */
static void elsewhere(void)
{
	pthread_t thread;
	start_threads();
	if (pthread_create(&thread, NULL, leave, NULL)) {
		_exit(EXIT_FAILURE);
	}
	for (;;) {
		(void)!kz_device_synchronize(own.dev, NULL);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} ways[] = {
	{"early", early}, {"late", late}, {"destructor", in_destructor}, {"first", first},
	{"quick", quick}, {"threads", start_threads}, {"elsewhere", elsewhere},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].name, argv[1]) == 0) {
			ways[i].run();
			return EXIT_SUCCESS;
		}
	}
	fprintf(stderr, "usage: ends early|late|destructor|first|quick|threads|elsewhere\n");
	return 2;
}
