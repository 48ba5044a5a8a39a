/* SPDX-License-Identifier: MIT */
#ifndef FORMS_REF_H
#define FORMS_REF_H

/* The references that forms.def names, and how they see bits as floats. */
#include "support/bits.h"
#include "forms.h"

#include <stdio.h>
#include <string.h>

form_reference ref_add, ref_mul, ref_mul24, ref_div, ref_sad, ref_abs, ref_min, ref_dp;
form_reference ref_logic, ref_shift, ref_shf, ref_count, ref_brev, ref_bfe, ref_bfi, ref_bmsk,
	ref_szext, ref_lop3, ref_prmt;
form_reference ref_setp, ref_set, ref_selp, ref_slct, ref_mov, ref_cvt_int;
form_reference ref_f32, ref_f64, ref_fmin, ref_copysign, ref_testp, ref_cvt_float, ref_cvt_to_int,
	ref_cvt_whole, ref_cvt_narrow, ref_cvt_random;

#endif
