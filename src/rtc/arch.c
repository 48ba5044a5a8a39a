/* SPDX-License-Identifier: MIT */
/*
 * Which architecture to compile for.
 *
 * A cubin runs on its own compute capability and on later minor ones of the same major, but for the
 * embedded chips (7.2, 8.7) that stand apart.  PTX runs on everything that is not older.
 */
#include "base/common.h"

#include "rtc/arch.h"
#include "rtc/compile.h"

#include <stdio.h>

static bool is_embedded(int cc)
{
	return cc == 72 || cc == 87;
}

bool arch_cubin_runs(int arch, int device_cc)
{
	bool same = arch == device_cc;
	return same || (arch / 10 == device_cc / 10 && arch < device_cc && !is_embedded(arch)
			&& !is_embedded(device_cc));
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
		cubin = arch_cubin_runs(archs[i], device_cc) ? archs[i] : cubin;
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
