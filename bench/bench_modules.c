/* SPDX-License-Identifier: MIT */
/*
 * The time of large modules.
 *
 *	bench_modules [DEVICE]     DEVICE as kz_device_open takes it; "cpu" if left out
 *
 * From an image in memory to a kernel that can be launched, for one kernel of a module of K over
 * the only kernel of a module of one, in turns.  Images are new, or were loaded before by this
 * process, or were loaded or compiled by an earlier process, whose results are in the cache on
 * disk.  Machine code is read by the driver alone, so the time of the driver by itself is
 * measured, too.  Then a launch with 10,000 kernels loaded, over one with a single kernel.
 */
#include "driver.h"

#include <string.h>
#include <unistd.h>

enum { ROUNDS = 21, LAUNCHES = 2000, BATCHES = 7, LOADED = 10, LOADED_KERNELS = 1000,
	MAX_IMAGE = 16 << 20 };

static char *write_source(int count)
{
	size_t room = (size_t)count * 256 + 1, len = 0;
	char *text = malloc(room);
	for (int i = 0; text && i < count; i++) {
		len += (size_t)snprintf(text + len, room - len,
			"extern \"C\" __global__ void k%d(float *x, const float *y, float a, "
			"int n)\n"
			"{\n"
			"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
			"	if (i < n) { x[i] = a * y[i] + x[i] * %d.5f; }\n"
			"}\n", i, i);
	}
	return text;
}

static int is_machine_code(kz_module *mod)
{
	int64_t size;
	const char *image = kz_module_image(mod, &size);
	return size > 4 && memcmp(image, "\177ELF", 4) == 0;
}

/* The image of a module as nobody has seen it: text gets a number at its end; NULL without
 * memory. */
static char *renew(kz_module *mod, int64_t *size)
{
	static int number;
	char line[32];
	const char *image = kz_module_image(mod, size);
	int length = snprintf(line, sizeof(line), "\n// %d\n", number++);
	char *copy = malloc((size_t)*size + sizeof(line));
	if (copy) {
		memcpy(copy, image, (size_t)*size);
		if (!is_machine_code(mod)) {
			int64_t end = (int64_t)strnlen(copy, (size_t)*size);
			memcpy(copy + end, line, (size_t)length + 1);
			*size = end + length + 1;
		}
	}
	return copy;
}

/* Load a module's image and make its first kernel ready; the seconds, negative where it failed. */
static double load_one(kz_module **out, kz_device *dev, kz_module *of, int is_new, kz_error *err)
{
	kz_kernel *kernel = NULL;
	int64_t size;
	char *copy = renew(of, &size);
	const char *image = is_new ? copy : kz_module_image(of, &size);
	double begin = bench_now();
	kz_status st = copy ? kz_module_load(out, dev, image, size, err) : KZ_NO_MEMORY;
	st = st ? st : kz_module_kernel(&kernel, *out, "k0", err);
	double time = bench_now() - begin;
	free(copy);
	return st ? -1 : time;
}

static kz_status compile(kz_module **out, kz_device *dev, int count, kz_error *err)
{
	char *source = write_source(count);
	kz_status st = kz_module_compile(out, dev, source ? source : "", NULL, err);
	free(source);
	return st;
}

static void report_loads(int count, const char *how, double *big, double *small, double *ratio)
{
	char name[64];
	snprintf(name, sizeof(name), "modules %d, %s", count, how);
	bench_report(name, "load, one kernel ready", "ms", big, ROUNDS);
	bench_report(name, "the same of a module of one", "ms", small, ROUNDS);
	bench_report(name, "ratio", "ratio", ratio, ROUNDS);
}

/* One of `count` against one of one, of images that are new or were loaded before. */
static int compare_loads(kz_device *dev, kz_module *one, kz_module *many, int count, int is_new,
	kz_error *err)
{
	double ratio[ROUNDS], big[ROUNDS], small[ROUNDS];
	kz_module *images[] = {one, many};
	for (int round = 0; round < ROUNDS; round++) {
		double times[2];
		for (int i = 0; i < 2; i++) {
			kz_module *mod = NULL;
			times[i] = load_one(&mod, dev, images[i], is_new, err);
			kz_module_release(mod);
			if (times[i] < 0) {
				return bench_fail(err);
			}
		}
		small[round] = 1e3 * times[0];
		big[round] = 1e3 * times[1];
		ratio[round] = times[1] / times[0];
	}
	report_loads(count, is_new ? "new" : "loaded before", big, small, ratio);
	return 0;
}

/* The same as load_one; negative where it failed. */
static double load_bare(const struct driver *driver, kz_module *of)
{
	void *mod = NULL, *function = NULL;
	int64_t size;
	const void *image = kz_module_image(of, &size);
	double begin = bench_now();
	int failed = driver->load(&mod, image) || driver->find(&function, mod, "k0");
	double time = bench_now() - begin;
	return failed || driver->unload(mod) ? -1 : time;
}

/* One of `count` against one of one, by the driver alone. */
static int compare_bare(kz_module *one, kz_module *many, int count)
{
	struct driver driver;
	double ratio[ROUNDS], big[ROUNDS], small[ROUNDS];
	int failed = driver_find(&driver) || driver.set_current(driver.context);
	for (int round = 0; !failed && round < ROUNDS; round++) {
		small[round] = 1e3 * load_bare(&driver, one);
		big[round] = 1e3 * load_bare(&driver, many);
		ratio[round] = big[round] / small[round];
		failed = small[round] < 0 || big[round] < 0;
	}
	if (failed || driver.set_current(NULL) || driver.release(0)) {
		return EXIT_FAILURE;
	}
	report_loads(count, "the driver alone", big, small, ratio);
	return 0;
}

/* Seconds of the processor for one launch: of some batches the best, for others may be at work. */
static double launches(kz_device *dev, kz_kernel *kernel, kz_array *x, kz_error *err)
{
	double best = 0;
	kz_status st = KZ_OK;
	for (int batch = 0; !st && batch < BATCHES; batch++) {
		double begin = bench_cpu();
		for (int i = 0; !st && i < LAUNCHES; i++) {
			st = kz_launch(kernel, kz_dim(1, 1, 1), kz_dim(32, 1, 1), NULL, err,
				KZ_ARGS(x, x, 1.0f, 32));
		}
		st = st ? st : kz_device_synchronize(dev, err);
		double time = (bench_cpu() - begin) / LAUNCHES;
		best = batch == 0 || time < best ? time : best;
	}
	return st ? -1 : best;
}

/* A launch while many kernels are loaded. */
static double launches_in_a_crowd(kz_device *dev, kz_kernel *kernel, kz_module *many, kz_array *x,
	kz_error *err)
{
	kz_module *loaded[LOADED] = {NULL};
	int failed = 0;
	for (int i = 0; !failed && i < LOADED; i++) {
		failed = load_one(&loaded[i], dev, many, 1, err) < 0;
	}
	double time = failed ? -1 : launches(dev, kernel, x, err);
	for (int i = 0; i < LOADED; i++) {
		kz_module_release(loaded[i]);
	}
	return time;
}

/* A launch among many kernels against one among few before and after. */
static int compare_launches(kz_device *dev, kz_module *one, kz_module *many, kz_error *err)
{
	double ratio[ROUNDS], with[ROUNDS];
	kz_kernel *kernel = NULL;
	kz_array *x = NULL;
	int failed = kz_module_kernel(&kernel, one, "k0", err)
		|| kz_array_zeros(&x, dev, KZ_F32, KZ_SHAPE(32), err);
	for (int round = 0; !failed && round < ROUNDS; round++) {
		double before = launches(dev, kernel, x, err);
		double crowd = launches_in_a_crowd(dev, kernel, many, x, err);
		double after = launches(dev, kernel, x, err);
		with[round] = 1e6 * crowd;
		ratio[round] = crowd / (before < after ? before : after);
		failed = before < 0 || crowd < 0 || after < 0;
	}
	kz_array_release(x);
	if (failed) {
		return bench_fail(err);
	}
	bench_report("modules 10000 loaded", "launch", "us", with, ROUNDS);
	bench_report("modules 10000 loaded", "ratio of a launch", "ratio", ratio, ROUNDS);
	return 0;
}

/* In a process of its own: `count` kernels in a text that another process has seen, as an image in
 * a file or as source; prints the seconds of the processor, for it waits for nothing. */
static int be_next_process(const char *device, const char *path, int count)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *kernel = NULL;
	char *text = path[0] ? malloc(MAX_IMAGE) : write_source(count);
	FILE *file = path[0] ? fopen(path, "rb") : NULL;
	size_t size = file && text ? fread(text, 1, MAX_IMAGE, file) : 0;
	if (!text || kz_device_open(&dev, device, &err)) {
		return bench_fail(&err);
	}
	double begin = bench_cpu();
	kz_status st = path[0] ? kz_module_load(&mod, dev, text, (int64_t)size, &err)
		: kz_module_compile(&mod, dev, text, NULL, &err);
	st = st ? st : kz_module_kernel(&kernel, mod, "k0", &err);
	printf("%.9f\n", bench_cpu() - begin);
	kz_module_release(mod);
	kz_device_close(dev);
	free(text);
	return st ? bench_fail(&err) : EXIT_SUCCESS;
}

/* Its seconds, negative on failure. */
static double time_process(const char *device, const char *path, int count)
{
	char command[256], line[64] = "";
	snprintf(command, sizeof(command), "exec /proc/$PPID/exe %s '%s' %d", device, path, count);
	FILE *out = popen(command, "r");
	char *got = out ? fgets(line, sizeof(line), out) : NULL;
	return !out || pclose(out) != 0 || !got ? -1 : strtod(line, NULL);
}

/* One of `counts[1]` against one of `counts[0]`; without files, as sources. */
static int compare_processes(const char *device, char paths[2][64], const int counts[2])
{
	double ratio[ROUNDS], times[2][ROUNDS];
	char name[64];
	for (int round = -1; round < ROUNDS; round++) {
		int slot = round < 0 ? 0 : round;
		for (int i = 0; i < 2; i++) {
			double time = time_process(device, paths[i], counts[i]);
			if (time < 0) {
				return EXIT_FAILURE;
			}
			times[i][slot] = 1e3 * time;
		}
		ratio[slot] = times[1][slot] / times[0][slot];
	}
	snprintf(name, sizeof(name), "modules %d, next process", counts[1]);
	const char *kind = paths[0][0] ? "image" : "source";
	const char *const whats[] = {"the same of a module of one", "load, one kernel ready"};
	for (int i = 2; i-- > 0;) {
		char what[64];
		snprintf(what, sizeof(what), "%s: %s", kind, whats[i]);
		bench_report(name, what, "ms", times[i], ROUNDS);
	}
	snprintf(name + strlen(name), sizeof(name) - strlen(name), ", %s", kind);
	bench_report(name, "ratio", "ratio", ratio, ROUNDS);
	return EXIT_SUCCESS;
}

static int save(kz_module *mod, const char *path)
{
	int64_t size;
	const void *image = kz_module_image(mod, &size);
	FILE *file = fopen(path, "wb");
	int failed = !file || fwrite(image, 1, (size_t)size, file) != (size_t)size;
	return (file && fclose(file)) || failed;
}

/* What another process finds in the cache that one has left. */
static int compare_next(const char *device, kz_module *one, kz_module *many)
{
	char folder[] = "/tmp/bench-modules-XXXXXX", paths[2][64], none[2][64] = {"", ""};
	const int counts[] = {1, LOADED_KERNELS};
	if (!mkdtemp(folder)) {
		return EXIT_FAILURE;
	}
	setenv("KUDZU_CACHE_DIR", folder, 1);
	setenv("KUDZU_CACHE", "1", 1);
	snprintf(paths[0], sizeof(paths[0]), "%s/one", folder);
	snprintf(paths[1], sizeof(paths[1]), "%s/many", folder);
	int failed = save(one, paths[0]) || save(many, paths[1])
		|| compare_processes(device, paths, counts)
		|| compare_processes(device, none, counts);
	bench_remove(folder);
	return failed;
}

static int run(const char *device, kz_device *dev, kz_error *err)
{
	static const int counts[] = {10, 100, LOADED_KERNELS};
	kz_module *one = NULL, *many = NULL;
	int failed = compile(&one, dev, 1, err) ? bench_fail(err) : 0;
	for (size_t i = 0; !failed && i < sizeof(counts) / sizeof(*counts); i++) {
		kz_module_release(many);
		failed = compile(&many, dev, counts[i], err) ? bench_fail(err)
			: compare_loads(dev, one, many, counts[i], 1, err)
				|| compare_loads(dev, one, many, counts[i], 0, err);
	}
	failed = failed || (is_machine_code(many) && compare_bare(one, many, LOADED_KERNELS))
		|| compare_launches(dev, one, many, err)
		|| compare_next(device, one, many);
	kz_module_release(many);
	kz_module_release(one);
	return failed;
}

int main(int argc, char **argv)
{
	kz_error err = KZ_ERROR_INIT;
	kz_device *dev = NULL;
	const char *device = argc > 1 ? argv[1] : "cpu";
	if (argc == 4) {
		return be_next_process(device, argv[2], (int)strtol(argv[3], NULL, 10));
	}
	if (kz_device_open(&dev, device, &err)) {
		return bench_fail(&err);
	}
	int failed = run(device, dev, &err);
	kz_device_close(dev);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
