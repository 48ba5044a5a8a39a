/* SPDX-License-Identifier: MIT */
/*
 * Where the text of kernels goes.
 *
 * Only our own driver can be told: it has a private table (base/cuda_abi.h).  The driver calls
 * output_pass, which calls the program's function.  That changes while the driver has none: when
 * set_output has returned, no call is in progress.
 */
#include "base/common.h"

#include "lib/core/device.h"

static void output_pass(void *user, int kind, const char *text, size_t size)
{
	const struct output *output = &((const struct kz_device *)user)->output;
	output->function(output->user, kind == KUDZU_OUTPUT_ASSERT ? KZ_OUTPUT_ASSERT
		: KZ_OUTPUT_PRINTF, text, (int64_t)size);
}

static void output_write(void *file, kz_output_kind kind, const char *text, int64_t size)
{
	(void)kind;
	(void)fwrite(text, 1, (size_t)size, file); /* the program asks ferror */
}

static kz_status output_refuse(const struct kz_device *dev, kz_error *err)
{
	bool mine = error_is_clean(err);
	error_set(err, KZ_UNSUPPORTED, "the driver of %s writes what kernels print to standard output "
		"itself", dev->name);
	if (mine) {
		error_add_hint(err, "redirect the program's standard output, or run it on the CPU device");
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
	}
	return code || !output.function ? code
		: exports->set_output(dev->context, output_pass, dev);
}

kz_status kz_device_set_output(kz_device *dev, kz_output_fn *function, void *user, kz_error *err)
{
	struct device_scope scope;
	kz_status st;
	/* To enter fails in a function that gets output, which must not wait for itself. */
	if ((st = object_check(dev, OBJECT_DEVICE, err)) || (st = device_enter(dev, &scope, err))) {
		return st;
	}
	device_leave(dev, &scope);
	const struct kudzu_exports *exports = device_exports(dev);
	if (!exports) {
		return function ? output_refuse(dev, err) : KZ_OK;
	}
	pthread_mutex_lock(&dev->lock);
	CUresult code = output_change(dev, exports, (struct output){function, user});
	pthread_mutex_unlock(&dev->lock);
	return device_ok(dev, code, "cuGetExportTable", err);
}

kz_status kz_device_set_output_file(kz_device *dev, FILE *file, kz_error *err)
{
	return kz_device_set_output(dev, file ? output_write : NULL, file, err);
}

/* A lost context is gone with its function; another one may have its handle. */
void output_finish(struct kz_device *dev)
{
	bool has_one = dev->output.function && !atomic_load(&dev->lost);
	const struct kudzu_exports *exports = has_one ? device_exports(dev) : NULL;
	if (exports) {
		(void)exports->set_output(dev->context, NULL, NULL);
	}
}
