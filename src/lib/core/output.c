/* SPDX-License-Identifier: MIT */
/*
 * Send the text of kernels where the program wants it.
 *
 * Only our own driver can be told: it has a private table (base/cuda_abi.h).  The driver calls
 * output_pass, which calls the program's function.  That changes while the driver has none: when
 * set_output has returned, no call is in progress.
 */
#include "base/common.h"

#include "base/error.h"
#include "base/file.h"
#include "base/kudzu_abi.h"
#include "lib/core/device.h"

static void output_pass(void *user, int kind, const char *text, size_t size)
{
	const struct output *output = &((const struct kz_device *)user)->output;
	output->function(output->user, kind == KUDZU_OUTPUT_ASSERT ? KZ_OUTPUT_ASSERT
		: KZ_OUTPUT_PRINTF, text, (int64_t)size);
}

/* The function for a file. */
static void output_write(void *user, int kind, const char *text, size_t size)
{
	struct kz_device *dev = user;
	(void)kind;
	atomic_store(&dev->output_waits, true);
	int error = file_print(dev->output.file, text, size);
	if (error) {
		atomic_store(&dev->output_error, error);
	}
}

/* Flush the file, of kernels' text.  The lock keeps the program from naming another one
 * meanwhile. */
static void output_flush(struct kz_device *dev)
{
	pthread_mutex_lock(&dev->lock);
	bool waits = atomic_exchange(&dev->output_waits, false);
	int error = waits && dev->output.file ? file_flush(dev->output.file) : 0;
	if (error) {
		atomic_store(&dev->output_error, error);
	}
	pthread_mutex_unlock(&dev->lock);
}

kz_status output_report(struct kz_device *dev, kz_error *err)
{
	output_flush(dev);
	int error = dev->exports->flush_output(dev->context);
	int of_file = atomic_exchange(&dev->output_error, 0);
	error = error ? error : of_file;
	return !error ? KZ_OK : error_os(err, error, "fwrite",
		"text that kernels of %s printed is lost", dev->name);
}

static kz_status output_refuse(const struct kz_device *dev, kz_error *err)
{
	bool mine = error_is_clean(err);
	error_set(err, KZ_UNSUPPORTED, "the driver of %s writes what kernels print to standard "
		"output itself", dev->name);
	if (mine) {
		error_add_hint(err, "redirect the program's standard output, or run it on the CPU "
			"device");
	}
	return KZ_UNSUPPORTED;
}

/* Under dev->lock; the context is alive. */
static CUresult output_change(struct kz_device *dev, const struct kudzu_exports *exports,
	struct output output)
{
	CUresult code = exports->set_output(dev->context, NULL, NULL);
	if (code == CUDA_SUCCESS) {
		dev->output = output;
		atomic_store(&dev->output_waits, false);
	}
	if (code || (!output.function && !output.file)) {
		return code;
	}
	return exports->set_output(dev->context, output.file ? output_write : output_pass, dev);
}

static kz_status output_set(kz_device *dev, struct output output, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	/* To enter fails in a function that gets output, which must not wait for itself. */
	if ((st = object_check(dev, OBJECT_DEVICE, err)) || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	device_leave(dev, &scope);
	const struct kudzu_exports *exports = dev->exports;
	if (!exports) {
		return output.function || output.file ? output_refuse(dev, err) : KZ_OK;
	}
	pthread_mutex_lock(&dev->lock);
	CUresult code = output_change(dev, exports, output);
	pthread_mutex_unlock(&dev->lock);
	return device_ok(dev, code, "cuGetExportTable", err);
}

kz_status kz_device_set_output(kz_device *dev, kz_output_fn *function, void *user, kz_error *err)
{
	error_scope(err);
	return output_set(dev, (struct output){.function = function, .user = user}, err);
}

kz_status kz_device_set_output_file(kz_device *dev, FILE *file, kz_error *err)
{
	error_scope(err);
	return output_set(dev, (struct output){.file = file}, err);
}

/* A lost context is gone with its function; another one may have its handle. */
void output_finish(struct kz_device *dev)
{
	bool has_one = (dev->output.function || dev->output.file)
		&& !atomic_load(&dev->lost);
	const struct kudzu_exports *exports = has_one ? dev->exports : NULL;
	if (exports) {
		(void)exports->set_output(dev->context, NULL, NULL);
	}
}
