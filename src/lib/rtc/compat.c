/* SPDX-License-Identifier: MIT */
/*
 * Compatibility: what runs on which device and driver.
 *
 * A cubin runs on its own compute capability and on later minor ones of the same major.  The
 * embedded chips (7.2, 8.7) are an exception: only their own cubins run there, and nowhere else.
 * PTX runs on every device that is not older, if the driver knows its version of the PTX ISA.
 */
#include "base/common.h"

#include "lib/rtc/compat.h"
#include "lib/rtc/compile.h"

#include <stdio.h>

/* "Release History" in NVIDIA's document on the PTX ISA, from CUDA 9 on. */
static const struct ptx_release releases[] = {
	{60, 9000, 384}, {61, 9010, 387}, {62, 9020, 396},
	{63, 10000, 410}, {64, 10010, 418}, {65, 10020, 440},
	{70, 11000, 450}, {71, 11010, 455}, {72, 11020, 460}, {73, 11030, 465}, {74, 11040, 470},
	{75, 11050, 495}, {76, 11060, 510}, {77, 11070, 515}, {78, 11080, 520},
	{80, 12000, 525}, {81, 12010, 530}, {82, 12020, 535}, {83, 12030, 545}, {84, 12040, 550},
	{85, 12050, 555}, {86, 12070, 565}, {87, 12080, 570}, {88, 12090, 575},
	{90, 13000, 580}, {91, 13010, 590}, {92, 13020, 595}, {93, 13030, 610}, {94, 13040, 615},
	{95, 13050, 0},
};

const struct ptx_release *compat_release(int ptx)
{
	for (size_t i = 0; i < countof(releases); i++) {
		if (releases[i].ptx == ptx) {
			return &releases[i];
		}
	}
	return NULL;
}

int compat_newest_ptx(int cuda)
{
	int newest = 0;
	for (size_t i = 0; i < countof(releases) && releases[i].cuda <= cuda; i++) {
		newest = releases[i].ptx;
	}
	return newest;
}

static bool compat_is_embedded(int cc)
{
	return cc == 72 || cc == 87;
}

bool compat_cubin_runs(int arch, int device_cc)
{
	bool same = arch == device_cc;
	return same || (arch / 10 == device_cc / 10 && arch < device_cc && !compat_is_embedded(arch)
			&& !compat_is_embedded(device_cc));
}

kz_status rtc_choose_arch(char out[24], const int *archs, int count, int device_cc, bool ptx_only,
	kz_error *err)
{
	int newest = 0; /* that the device is not older than */
	int cubin = 0;
	if (device_cc < 10 || device_cc > 9999) {
		return error_set(err, KZ_INVALID,
			"expected a compute capability as 10 * major + minor, got %d", device_cc);
	}
	for (int i = 0; i < count; i++) {
		newest = archs[i] <= device_cc ? archs[i] : newest;
		cubin = compat_cubin_runs(archs[i], device_cc) ? archs[i] : cubin;
	}
	if (count == 0) {
		newest = cubin = device_cc; /* this NVRTC cannot tell: it will refuse, or not */
	}
	if (newest == 0) {
		bool mine = error_is_clean(err);
		error_set(err, KZ_VERSION, "the device has compute capability %d.%d, this NVRTC "
			"compiles for %d.%d and newer", device_cc / 10, device_cc % 10,
			archs[0] / 10, archs[0] % 10);
		if (mine) {
			error_add_hint(err, "install an older NVRTC and name it in KUDZU_NVRTC: "
				"CUDA 12 is the last for compute capability 5.0 to 7.2");
		}
		return KZ_VERSION;
	}
	if (cubin > 0 && !ptx_only) {
		snprintf(out, 24, "sm_%d", cubin);
	} else {
		snprintf(out, 24, "compute_%d", newest);
	}
	return KZ_OK;
}
