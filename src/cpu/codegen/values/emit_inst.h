/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_VALUES_EMIT_INST_H
#define CPU_CODEGEN_VALUES_EMIT_INST_H

/* Instructions: the functions that the rows of ptx.def name, wherever they are. */
#include "cpu/codegen/values/emit.h"

emit_fn emit_add, emit_addc, emit_sub, emit_subc, emit_mul, emit_mul24, emit_mad, emit_madc,
	emit_mad24, emit_div, emit_rem, emit_sad, emit_abs, emit_neg, emit_minmax, emit_dp4a,
	emit_dp2a, emit_video, emit_video_parts, emit_vmad;
emit_fn emit_logic, emit_not, emit_cnot, emit_shift, emit_shf, emit_popc, emit_clz, emit_bfind,
	emit_brev, emit_bfe, emit_bfi, emit_bmsk, emit_szext, emit_lop3, emit_prmt;
emit_fn emit_setp, emit_fsetp, emit_set, emit_fset, emit_selp, emit_slct, emit_testp;
emit_fn emit_fadd, emit_fsub, emit_fmul, emit_fma, emit_fdiv, emit_rcp, emit_sqrt, emit_rsqrt,
	emit_fabs, emit_fneg, emit_fminmax, emit_copysign;
emit_fn emit_hbinary, emit_hfma, emit_hneg, emit_habs, emit_hminmax, emit_hex2,
	emit_htanh;
emit_fn emit_ex2, emit_lg2, emit_sin, emit_cos, emit_tanh;
emit_fn emit_add_x2, emit_minmax_x2, emit_lop3_pred, emit_fns, emit_policy, emit_atom_vector,
	emit_red_vector;
emit_fn emit_cvt_half, emit_cvt_pack, emit_cvt_tf32, emit_cvt_small, emit_cvt_from_small,
	emit_cvt_ue8m0, emit_cvt_from_ue8m0;
emit_fn emit_mov, emit_cvt, emit_cvt_pair, emit_cvt_pair_rs, emit_cvta, emit_isspacep,
	emit_istypep;
emit_fn emit_tex, emit_surface, emit_query;
emit_fn emit_ld, emit_st, emit_atom, emit_atom_cas, emit_red, emit_fence, emit_prefetch,
	emit_nothing;
emit_fn emit_call, emit_fail_launch, emit_note, emit_made, emit_blame;
emit_fn emit_bar_sync, emit_bar_arrive, emit_bar_red, emit_bar_warp_sync, emit_bra, emit_brx,
	emit_exit, emit_trap, emit_nanosleep, emit_activemask;
emit_fn emit_mma, emit_wmma_load, emit_wmma_store, emit_ldmatrix, emit_stmatrix, emit_movmatrix;
emit_fn emit_cp_async, emit_cp_bulk, emit_st_bulk, emit_cp_arrive, emit_mbarrier,
	emit_mbarrier_pending;
emit_fn emit_shfl, emit_vote, emit_match, emit_redux, emit_elect;

#endif
