/* SPDX-License-Identifier: MIT */
#ifndef CPU_CHECK_VALUES_H
#define CPU_CHECK_VALUES_H

/* The checks `nan` and `int`: reports about values that an instruction has made wrong. */
#include "cpu/check/report.h"

/* What rt_host.made and rt_host.blame are. */
void values_keep(struct rt_warp *warp, uint32_t lane, const struct rt_made *made);
void values_report(struct rt_warp *warp, uint32_t lane, uint32_t blame);

#endif
