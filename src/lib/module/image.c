/* SPDX-License-Identifier: MIT */
/*
 * Images as counted objects: what a compile makes, or what somebody has compiled before.
 *
 * An image is a struct rtc_image that nobody changes any more.  A module holds one, and reads in it
 * what is known of its kernels.  Several modules, of several devices, may hold the same image.
 */
#include "base/common.h"

#include "base/alloc.h"
#include "base/file.h"
#include "lib/module/module.h"

kz_status image_take(struct kz_image **out, struct rtc_image *image, kz_error *err)
{
	struct kz_image *made = mem_zalloc(1, sizeof(*made));
	if (!made) {
		rtc_image_free(image);
		return error_no_memory(err);
	}
	made->tag = OBJECT_IMAGE;
	atomic_init(&made->refs, 1);
	made->rtc = *image;
	*out = made;
	return KZ_OK;
}

kz_image *kz_image_retain(kz_image *image)
{
	if (object_is(image, OBJECT_IMAGE)) {
		atomic_fetch_add(&image->refs, 1);
	}
	return image;
}

void image_release(struct kz_image *image)
{
	if (!object_is(image, OBJECT_IMAGE) || atomic_fetch_sub(&image->refs, 1) != 1) {
		return;
	}
	object_end(&image->tag);
	rtc_image_free(&image->rtc);
	object_free(image);
}

void kz_image_release(kz_image *image)
{
	if (object_is(image, OBJECT_IMAGE)) {
		object_take(image);
		image_release(image);
	}
}

kz_status kz_image_create(kz_image **out, const void *data, int64_t size, kz_error *err)
{
	error_scope(err);
	struct rtc_image image;
	kz_status st;
	if ((st = out_check(out, sizeof(*out), __func__, err))
	    || (st = pointer_check(data, "an image", err))) {
		return st;
	}
	if (size <= 0) {
		return error_set(err, KZ_INVALID, "expected the bytes of an image, got a size of "
			"%lld", (long long)size);
	}
	st = rtc_image_inspect(&image, data, (size_t)size, err);
	return image_give(out, st ? st : image_take(out, &image, err));
}

kz_status kz_image_save(const kz_image *image, const char *path, kz_error *err)
{
	error_scope(err);
	kz_status st;
	if ((st = object_check(image, OBJECT_IMAGE, err))
	    || (st = pointer_check(path, "the path of a file", err))) {
		return st;
	}
	return file_replace(path, image->rtc.data, image->rtc.size, err);
}

const void *kz_image_data(const kz_image *image, int64_t *size)
{
	if (size) {
		*size = kz_image_size(image);
	}
	return object_is(image, OBJECT_IMAGE) ? image->rtc.data : NULL;
}

int64_t kz_image_size(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) ? (int64_t)image->rtc.size : 0;
}

kz_image_kind kz_image_get_kind(const kz_image *image)
{
	if (!object_is(image, OBJECT_IMAGE)) {
		return KZ_IMAGE_NONE;
	}
	return image->rtc.is_ptx ? KZ_IMAGE_PTX
		: image->rtc.is_lto ? KZ_IMAGE_LTOIR : KZ_IMAGE_CUBIN;
}

const char *kz_image_arch(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) ? image->rtc.arch : "";
}

const char *kz_image_log(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) && image->rtc.log ? image->rtc.log : "";
}

int64_t kz_image_kernel_count(const kz_image *image)
{
	return object_is(image, OBJECT_IMAGE) ? (int64_t)image->rtc.kernel_count : 0;
}

const char *kz_image_kernel_name(const kz_image *image, int64_t index)
{
	return index >= 0 && index < kz_image_kernel_count(image)
		? image->rtc.kernels[index].name : NULL;
}
