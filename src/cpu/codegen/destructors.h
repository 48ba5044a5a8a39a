/* SPDX-License-Identifier: MIT */
#ifndef CPU_CODEGEN_DESTRUCTORS_H
#define CPU_CODEGEN_DESTRUCTORS_H

/* Whether LLVM's static objects outlive exit(): those of an LLVM in this library do. */
bool destructors_are_left_out(void);

#endif
