/* SPDX-License-Identifier: MIT */
#ifndef CPU_PTX_PTX_H
#define CPU_PTX_PTX_H

/*
 * A PTX module as data: what parse.c makes, check.c approves, cfg.c and ssa.c add to and emit*.c
 * reads.  Everything hangs on one arena.  Control flow is a list of instructions with labels until
 * cfg.c cuts it into blocks.  Registers are variables until ssa.c numbers their values.
 */
#include "base/arena.h"
#include "base/common.h"
#include "base/hash.h"

/* name, PTX spelling, bits, class: p predicate, b untyped, u unsigned, s signed, f float,
 * h packed, or of instructions only; whether registers and variables can have it */
#define PTX_TYPES(X) \
	X(NONE, "", 0, ' ', false) \
	X(PRED, "pred", 1, 'p', true) \
	X(B8, "b8", 8, 'b', true) X(B16, "b16", 16, 'b', true) X(B32, "b32", 32, 'b', true) \
	X(B64, "b64", 64, 'b', true) \
	X(B128, "b128", 128, 'b', true) \
	X(U8, "u8", 8, 'u', true) X(U16, "u16", 16, 'u', true) X(U32, "u32", 32, 'u', true) \
	X(U64, "u64", 64, 'u', true) \
	X(S8, "s8", 8, 's', true) X(S16, "s16", 16, 's', true) X(S32, "s32", 32, 's', true) \
	X(S64, "s64", 64, 's', true) \
	X(F16, "f16", 16, 'f', true) X(BF16, "bf16", 16, 'f', true) \
	X(F32, "f32", 32, 'f', true) X(F64, "f64", 64, 'f', true) \
	X(F16X2, "f16x2", 32, 'h', true) X(BF16X2, "bf16x2", 32, 'h', true) \
	X(U16X2, "u16x2", 32, 'h', false) X(S16X2, "s16x2", 32, 'h', false) \
	X(F32X2, "f32x2", 64, 'h', false) \
	X(TF32, "tf32", 32, 'h', false) X(E4M3X2, "e4m3x2", 16, 'h', false) \
	X(E5M2X2, "e5m2x2", 16, 'h', false) \
	X(E2M3X2, "e2m3x2", 16, 'h', false) X(E3M2X2, "e3m2x2", 16, 'h', false) \
	X(E2M1X2, "e2m1x2", 8, 'h', false) \
	X(UE8M0X2, "ue8m0x2", 16, 'h', false)

enum ptx_type {
#define X(name, spelling, bits, class, is_stored) PTX_##name,
	PTX_TYPES(X)
#undef X
	PTX_TYPE_COUNT
};

const char *ptx_type_name(enum ptx_type type); /* "u32" */
unsigned ptx_type_bits(enum ptx_type type);
unsigned ptx_type_size(enum ptx_type type);    /* bytes in memory; 1 for pred */
char ptx_type_class(enum ptx_type type);
/* Whether a register or a variable can have it; only a register can be a predicate. */
bool ptx_type_is_stored(enum ptx_type type);
/* The integer type of the same sign and twice the size; of 16 or 32 bits. */
enum ptx_type ptx_widen(enum ptx_type type);

enum ptx_space {
	PTX_GENERIC,
	PTX_CONST,
	PTX_GLOBAL,
	PTX_LOCAL,
	PTX_PARAM,
	PTX_SHARED
};

/* Every modifier that an instruction may carry, other than types: the part of an opcode between
 * dots.  Each is one bit of ptx_inst.mods; what goes together is a matter of ptx.def. */
#define PTX_MODS(X) \
	/* rounding */ X(RN, "rn") X(RZ, "rz") X(RM, "rm") X(RP, "rp") \
	X(RNI, "rni") X(RZI, "rzi") X(RMI, "rmi") X(RPI, "rpi") X(RNA, "rna") \
	/* arithmetic */ X(FTZ, "ftz") X(SAT, "sat") X(SATFINITE, "satfinite") X(APPROX, "approx") \
	X(FULL, "full") X(LO, "lo") X(HI, "hi") X(WIDE, "wide") X(CC, "cc") X(NAN, "NaN") \
	X(XORSIGN, "xorsign") X(ABS, "abs") X(RELU, "relu") X(SHIFTAMT, "shiftamt") \
	X(L, "l") X(R, "r") X(WRAP, "wrap") X(CLAMP, "clamp") \
	X(F4E, "f4e") X(B4E, "b4e") X(RC8, "rc8") X(ECL, "ecl") X(ECR, "ecr") X(RC16, "rc16") \
	X(U2, "u2") X(S2, "s2") X(U4, "u4") X(S4, "s4") \
	X(TWO_PI, "2pi") X(PO, "po") X(SHR7, "shr7") X(SHR15, "shr15") \
	/* compare */ X(EQ, "eq") X(NE, "ne") X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge") \
	X(LS, "ls") X(HS, "hs") X(EQU, "equ") X(NEU, "neu") X(LTU, "ltu") X(LEU, "leu") \
	X(GTU, "gtu") X(GEU, "geu") X(NUM, "num") X(ISNAN, "nan") \
	/* boolean */ X(AND, "and") X(OR, "or") X(XOR, "xor") X(POPC, "popc") \
	/* test */ X(FINITE, "finite") X(INFINITE, "infinite") X(NUMBER, "number") \
	X(NOTANUMBER, "notanumber") X(NORMAL, "normal") X(SUBNORMAL, "subnormal") \
	/* memory */ X(VOLATILE, "volatile") X(RELAXED, "relaxed") X(ACQUIRE, "acquire") \
	X(RELEASE, "release") X(ACQ_REL, "acq_rel") X(WEAK, "weak") X(SC, "sc") X(NC, "nc") \
	X(CTA, "cta") X(CLUSTER, "cluster") X(GPU, "gpu") X(SYS, "sys") X(MMIO, "mmio") \
	X(CA, "ca") X(CG, "cg") X(CS, "cs") X(LU, "lu") X(CV, "cv") X(WB, "wb") X(WT, "wt") \
	X(V2, "v2") X(V4, "v4") X(V8, "v8") X(TO, "to") X(UNIFIED, "unified") X(GL, "gl") \
	/* atomic */ X(ADD, "add") X(INC, "inc") X(DEC, "dec") X(MIN, "min") X(MAX, "max") \
	X(EXCH, "exch") X(CAS, "cas") X(NOFTZ, "noftz") X(CACHE_HINT, "L2::cache_hint") \
	/* mbarrier */ X(INIT, "init") X(EXPECT_TX, "expect_tx") X(COMPLETE_TX, "complete_tx") \
	X(ARRIVE_DROP, "arrive_drop") X(NOINC, "noinc") \
	/* matrices */ X(X1, "x1") X(X2, "x2") X(X4, "x4") X(TRANS, "trans") \
	/* control */ X(UNI, "uni") X(SYNC, "sync") X(ARRIVE, "arrive") X(RED, "red") \
	X(ALIGNED, "aligned") X(WARP, "warp") X(UP, "up") X(DOWN, "down") X(BFLY, "bfly") \
	X(IDX, "idx") X(ALL, "all") X(ANY, "any") X(BALLOT, "ballot") \
	X(L1, "L1") X(L2, "L2") X(MASK, "mask")

enum ptx_mod {
#define X(name, spelling) PTX_MOD_##name,
	PTX_MODS(X)
#undef X
	PTX_MOD_COUNT
};

struct ptx_mods {
	uint64_t bits[(PTX_MOD_COUNT + 63) / 64];
};

/* Of a set of numbers, a bit for each. */
static inline bool ptx_has_bit(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

static inline bool ptx_has(const struct ptx_mods *mods, enum ptx_mod mod)
{
	return ptx_has_bit(mods->bits, mod);
}

/* All of PTX up to this version is known, 90 for 9.0; of newer ones only what ptx.def has. */
#define PTX_NEWEST_VERSION 90

/* Special registers that we know: name, PTX spelling, type. */
#define PTX_SREGS(X) \
	X(TID_X, "%tid.x", U32) X(TID_Y, "%tid.y", U32) X(TID_Z, "%tid.z", U32) \
	X(NTID_X, "%ntid.x", U32) X(NTID_Y, "%ntid.y", U32) X(NTID_Z, "%ntid.z", U32) \
	X(CTAID_X, "%ctaid.x", U32) X(CTAID_Y, "%ctaid.y", U32) X(CTAID_Z, "%ctaid.z", U32) \
	X(NCTAID_X, "%nctaid.x", U32) X(NCTAID_Y, "%nctaid.y", U32) X(NCTAID_Z, "%nctaid.z", U32) \
	X(LANEID, "%laneid", U32) X(WARPID, "%warpid", U32) X(NWARPID, "%nwarpid", U32) \
	X(SMID, "%smid", U32) X(NSMID, "%nsmid", U32) X(GRIDID, "%gridid", U64) \
	X(LANEMASK_EQ, "%lanemask_eq", U32) X(LANEMASK_LE, "%lanemask_le", U32) \
	X(LANEMASK_LT, "%lanemask_lt", U32) X(LANEMASK_GE, "%lanemask_ge", U32) \
	X(LANEMASK_GT, "%lanemask_gt", U32) \
	X(CLOCK, "%clock", U32) X(CLOCK_HI, "%clock_hi", U32) X(CLOCK64, "%clock64", U64) \
	X(GLOBALTIMER, "%globaltimer", U64) X(GLOBALTIMER_LO, "%globaltimer_lo", U32) \
	X(GLOBALTIMER_HI, "%globaltimer_hi", U32) \
	X(DYNAMIC_SMEM_SIZE, "%dynamic_smem_size", U32) \
	X(TOTAL_SMEM_SIZE, "%total_smem_size", U32) \
	X(ENVREG1, "%envreg1", B32) X(ENVREG2, "%envreg2", B32) \
	/* a cluster is one block */ \
	X(CLUSTERID_X, "%clusterid.x", U32) X(CLUSTERID_Y, "%clusterid.y", U32) \
	X(CLUSTERID_Z, "%clusterid.z", U32) X(NCLUSTERID_X, "%nclusterid.x", U32) \
	X(NCLUSTERID_Y, "%nclusterid.y", U32) X(NCLUSTERID_Z, "%nclusterid.z", U32) \
	X(CLUSTER_CTAID_X, "%cluster_ctaid.x", U32) \
	X(CLUSTER_CTAID_Y, "%cluster_ctaid.y", U32) \
	X(CLUSTER_CTAID_Z, "%cluster_ctaid.z", U32) \
	X(CLUSTER_NCTAID_X, "%cluster_nctaid.x", U32) \
	X(CLUSTER_NCTAID_Y, "%cluster_nctaid.y", U32) \
	X(CLUSTER_NCTAID_Z, "%cluster_nctaid.z", U32) \
	X(CLUSTER_CTARANK, "%cluster_ctarank", U32) \
	X(CLUSTER_NCTARANK, "%cluster_nctarank", U32) \
	/* the device is one domain */ \
	X(LOCALITY_DOMAIN_ID, "%locality_domain_id", U32) \
	X(LOCALITY_DOMAIN_SUPPLEMENTAL_SM, "%locality_domain_supplemental_sm", U32) \
	X(IS_EXPLICIT_CLUSTER, "%is_explicit_cluster", PRED) \
	X(AGGR_SMEM_SIZE, "%aggr_smem_size", U32) \
	X(RESERVED_SMEM_OFFSET_BEGIN, "%reserved_smem_offset_begin", U32) \
	X(RESERVED_SMEM_OFFSET_END, "%reserved_smem_offset_end", U32) \
	X(RESERVED_SMEM_OFFSET_CAP, "%reserved_smem_offset_cap", U32) \
	X(RESERVED_SMEM_OFFSET_0, "%reserved_smem_offset_0", U32) \
	X(RESERVED_SMEM_OFFSET_1, "%reserved_smem_offset_1", U32) \
	X(CURRENT_GRAPH_EXEC, "%current_graph_exec", U64) \
	/* nothing is measured or passed here: 0 */ \
	X(TID_W, "%tid.w", U32) X(NTID_W, "%ntid.w", U32) \
	X(CTAID_W, "%ctaid.w", U32) X(NCTAID_W, "%nctaid.w", U32) \
	X(PM0, "%pm0", U32) X(PM1, "%pm1", U32) X(PM2, "%pm2", U32) X(PM3, "%pm3", U32) \
	X(PM4, "%pm4", U32) X(PM5, "%pm5", U32) X(PM6, "%pm6", U32) X(PM7, "%pm7", U32) \
	X(PM0_64, "%pm0_64", U64) X(PM1_64, "%pm1_64", U64) X(PM2_64, "%pm2_64", U64) \
	X(PM3_64, "%pm3_64", U64) X(PM4_64, "%pm4_64", U64) X(PM5_64, "%pm5_64", U64) \
	X(PM6_64, "%pm6_64", U64) X(PM7_64, "%pm7_64", U64) \
	X(ENVREG0, "%envreg0", B32) X(ENVREG3, "%envreg3", B32) X(ENVREG4, "%envreg4", B32) \
	X(ENVREG5, "%envreg5", B32) X(ENVREG6, "%envreg6", B32) X(ENVREG7, "%envreg7", B32) \
	X(ENVREG8, "%envreg8", B32) X(ENVREG9, "%envreg9", B32) \
	X(ENVREG10, "%envreg10", B32) X(ENVREG11, "%envreg11", B32) \
	X(ENVREG12, "%envreg12", B32) X(ENVREG13, "%envreg13", B32) \
	X(ENVREG14, "%envreg14", B32) X(ENVREG15, "%envreg15", B32) \
	X(ENVREG16, "%envreg16", B32) X(ENVREG17, "%envreg17", B32) \
	X(ENVREG18, "%envreg18", B32) X(ENVREG19, "%envreg19", B32) \
	X(ENVREG20, "%envreg20", B32) X(ENVREG21, "%envreg21", B32) \
	X(ENVREG22, "%envreg22", B32) X(ENVREG23, "%envreg23", B32) \
	X(ENVREG24, "%envreg24", B32) X(ENVREG25, "%envreg25", B32) \
	X(ENVREG26, "%envreg26", B32) X(ENVREG27, "%envreg27", B32) \
	X(ENVREG28, "%envreg28", B32) X(ENVREG29, "%envreg29", B32) \
	X(ENVREG30, "%envreg30", B32) X(ENVREG31, "%envreg31", B32) \
	/* of flatten.c, no name in PTX */ X(STACK_SIZE, "#stack_size", U64)

enum ptx_sreg {
#define X(name, spelling, type) PTX_SREG_##name,
	PTX_SREGS(X)
#undef X
	PTX_SREG_COUNT
};
static_assert(PTX_SREG_TID_Z - PTX_SREG_TID_X == 2 && PTX_SREG_NTID_Z - PTX_SREG_NTID_X == 2,
	"x, y and z follow each other");

/* The opcode table, explained in ptx.def. */
enum ptx_op {
#define X(op, spelling, operands, types, mods, kind, emit, note) PTX_OP_##op,
#include "cpu/ptx/ptx.def"
#undef X
	PTX_OP_COUNT
};

/* What an instruction does, a bit each.  Where its row stands says nothing about it. */
enum ptx_kind {
	PTX_KIND_OTHER = 0,
	PTX_KIND_COMPUTE = 1,  /* reads registers and constants, writes registers, nothing else */
	PTX_KIND_VIDEO = 2,    /* does the same; its operands are parts of registers */
	PTX_KIND_BARRIER = 4,  /* the threads of a block wait for others */
	PTX_KIND_WARP = 8,     /* the threads of a warp do, or are asked for */
	PTX_KIND_EXCHANGE = 16,/* the threads of a warp exchange values of registers */
	PTX_KIND_MATRIX = 32,  /* the same, of matrices; some are loaded or stored */
};

/* A row of ptx.def without its emitter. */
struct ptx_row {
	const char *spelling;
	const char *operands;
	const char *types;
	const char *mods;
	const char *reason; /* if it is unsupported: " (clusters)" or "" */
	enum ptx_kind kind;
	bool unsupported;
};

extern const struct ptx_row ptx_rows[PTX_OP_COUNT];

/* The letters of operands that are written. */
#define PTX_WRITTEN "CdDPRVTxpeG"

/* Threads may wait for others at such an instruction; it ends its basic block. */
static inline bool ptx_waits(enum ptx_op op)
{
	return ptx_rows[op].operands[0] == '!';
}

/* The threads of a warp exchange values there. */
static inline bool ptx_is_collective(enum ptx_op op)
{
	return ptx_rows[op].kind & (PTX_KIND_EXCHANGE | PTX_KIND_MATRIX);
}

/* It reads registers and constants and writes registers, and nothing else but the carry. */
static inline bool ptx_computes(enum ptx_op op)
{
	return ptx_rows[op].kind & (PTX_KIND_COMPUTE | PTX_KIND_VIDEO);
}

/* It computes, or its threads wait for others or exchange values, all without memory. */
static inline bool ptx_needs_no_memory(enum ptx_op op)
{
	return ptx_rows[op].kind & (PTX_KIND_COMPUTE | PTX_KIND_VIDEO | PTX_KIND_BARRIER
		| PTX_KIND_WARP | PTX_KIND_EXCHANGE);
}

static inline bool ptx_is_barrier(enum ptx_op op)
{
	return ptx_rows[op].kind == PTX_KIND_BARRIER;
}

static inline bool ptx_is_video(enum ptx_op op)
{
	return ptx_rows[op].kind == PTX_KIND_VIDEO;
}

struct ptx_reg {
	const char *name; /* "%r12" */
	enum ptx_type type;
};

/* Where an initializer holds an address, or a part of it: `size` bytes at `offset` get
 * (&var + addend) >> shift. */
struct ptx_reloc {
	size_t offset;
	struct ptx_var *var;   /* or, ptx_func.address of: */
	struct ptx_func *func;
	int64_t addend;
	unsigned shift;        /* with `size`: which bytes of the address are wanted */
	unsigned size;
};

struct ptx_var {
	const char *name;
	enum ptx_space space;   /* CONST, GLOBAL, SHARED, LOCAL, PARAM */
	enum ptx_type type;     /* of one element */
	size_t align;           /* in bytes, at least the element's size */
	size_t size;            /* in bytes; 0 for an extern array without bounds */
	bool is_extern;
	bool is_visible;        /* .visible or .weak */
	bool is_managed;
	bool is_argument;       /* PARAM in a body: an argument or result of a call */
	uint8_t *init;          /* `size` bytes, NULL for all zero */
	struct ptx_reloc *relocs;
	size_t reloc_count;
	int line;
	struct ptx_var *origin; /* SHARED in a function: the module's variable that this is a
	                         * copy of, NULL if there is none */
	bool is_register;       /* PARAM: .reg, and always */
	bool in_register;       /* PARAM, by flatten.c too: lives in this register instead */
	unsigned reg;
	size_t index;  /* place in ptx_module.vars (CONST, GLOBAL) or shared, in ptx_func.params,
	                * returns or vars */
	size_t offset; /* SHARED, LOCAL, PARAM: bytes from the start of the function's area (the
	                * local one if is_argument); dynamic shared memory (extern): the end of
	                * the static part */
};

enum ptx_operand_kind {
	PTX_REG,      /* reg, negated */
	PTX_PAIR,     /* reg | reg2: setp's two predicates, shfl's value and predicate */
	PTX_INT,      /* value */
	PTX_FLOAT,    /* real: from 0f..., 0d... or a decimal number */
	PTX_SREG,     /* sreg */
	PTX_ADDRESS,  /* memory or address operand: var or reg or neither, plus value as offset */
	PTX_LABEL,    /* label, its index in `reg`; cfg.c puts its block number into `value` */
	PTX_FUNC,     /* func */
	PTX_VECTOR,   /* elements[count]: registers, constants or sinks; of {a, b}|p p is the
	                 last */
	PTX_SINK      /* _ */
};

/* An instruction has several, so their size decides how much memory a kernel takes. */
struct ptx_operand {
	enum ptx_operand_kind kind;
	bool negated;                 /* !%p */
	bool minus;                   /* -%r, of vmad */
	bool bracketed;               /* PTX_ADDRESS in [ ]: a memory access, not an address */
	bool has_base;
	char select[6];               /* of a video instruction, after a register: "h1", "b3210" */
	uint8_t real_width;           /* 32 or 64 for 0f and 0d, 0 for a decimal number */
	unsigned reg;                 /* index in ptx_func.regs; PTX_ADDRESS: base if has_base */
	unsigned reg2;
	unsigned value_of;            /* by ssa.c: the value of reg that is read or written, */
	unsigned value_of2;           /* and of reg2 */
	enum ptx_sreg sreg;
	int64_t value;                /* PTX_INT (bits), PTX_ADDRESS (offset), PTX_LABEL (block) */
	union {                       /* by kind */
		struct {
			double real;
			uint64_t real_bits; /* the exact bits that 0f (low 32) or 0d gave */
		};
		struct ptx_var *var;
		struct ptx_func *func;
		const char *label;
		struct {
			struct ptx_operand *elements;
			size_t count;
		};
	};
};

/* A place in a source: .loc.  Where the compiler has put a function in the place of a call, `at` is
 * the call. */
struct ptx_loc {
	int file;                     /* index of .file, 0 if there is none */
	int line, column;
	const char *function;         /* a label in .debug_str, at the function's name; NULL if `at`
	                               * is */
	size_t addend;                /* bytes after that label */
	const struct ptx_loc *at;     /* NULL: in the function that the instruction is in */
};

/* For debuggers: what each thread's debug area begins with, in its frame. */
struct ptx_debug_head {
	uint32_t indexes[4][3];        /* threadIdx, blockIdx, blockDim, gridDim */
	uint32_t line;                 /* of the source, where the thread waits */
	uint32_t grid;                 /* the number of the launch */
	uint32_t unused[2];
};

/* For debuggers: where a variable of the source is while a kernel runs. */
struct ptx_debug_var {
	const struct dwarf_die *die;   /* NULL: it is ours, a base that others lie at */
	enum {
		PTX_DEBUG_KEPT,        /* `offset` has what #note has last put there */
		PTX_DEBUG_AT_BASE,     /* at the address that `offset` has, and `addend` */
		PTX_DEBUG_OF_MODULE,   /* at a variable of PTX, and `addend` */
		PTX_DEBUG_LOST         /* nowhere: the register that it is said to be in does
		                        * not exist */
	} kind;
	unsigned size;
	size_t offset;                 /* in the debug area, from ptx_scope.place */
	const char *symbol;            /* of the variable of PTX */
	uint64_t addend;
};

/* For debuggers: the function that an instruction is in, or a block of the source within it.  By
 * debug_scope.c; a kernel that flatten.c has made has one for each call. */
struct ptx_scope {
	const struct ptx_scope *outer; /* where it is called, or what the block is in; NULL: the
	                                * kernel is in nothing */
	const char *symbol;            /* of a function; NULL: a block */
	const struct ptx_loc *call;    /* and where in `outer` it is called; NULL: unknown */
	size_t index;                  /* in ptx_func.scopes, before flattening */
	const struct dwarf_die *die;   /* NULL: the module says nothing of it */
	struct ptx_debug_var *vars;
	size_t var_count;
	size_t place;                  /* in the debug area: what the function has begins here */
};

/* Bytes of a .section, which say something of a module to debuggers, and the names in them. */
struct ptx_section {
	const char *name;             /* ".debug_info" */
	uint8_t *bytes;
	size_t size;
	struct ptx_mark *marks;       /* labels in it, by offset, */
	size_t mark_count;
	struct ptx_mark *uses;        /* and places that hold an address */
	size_t use_count;
};

/* A label of a section; or `size` bytes in it that are to hold the address of a label, a variable
 * or a section, and `addend` more. */
struct ptx_mark {
	const char *name;
	size_t offset, size;
	uint64_t addend;
};

struct ptx_inst {
	enum ptx_op op;
	enum ptx_space space;         /* of ld, st, atom, red, cvta, isspacep */
	const char *text;             /* the opcode as written: "mul.wide.s32" */
	struct ptx_mods mods;
	enum ptx_type types[4];       /* in the order written, PTX_NONE where there is none */
	struct ptx_operand *operands; /* none if the instruction is unsupported; of a call: callee
	                               * (PTX_FUNC or PTX_REG), results and arguments (PTX_VECTOR),
	                               * and the prototype (PTX_FUNC) if the callee is a register */
	size_t operand_count;
	int line;                     /* in the PTX text, from 1 */
	int column;
	const struct ptx_loc *loc;    /* NULL: unknown */
	const struct ptx_scope *scope; /* NULL: no debugger will look at it */
	bool has_guard;
	bool guard_negated;
	bool has_carry;               /* by lower.c: it reads or writes the condition code */
	bool is_second;               /* and it is the half after the wait, with results */
	unsigned guard;               /* register */
	unsigned guard_value;         /* by ssa.c */
	unsigned carry_in, carry_out; /* by lower.c: registers; */
	unsigned carry_in_value;      /* by ssa.c: the value that is read, */
	unsigned carry_out_value;     /* and the one that is written */
};

static inline bool ptx_writes_carry(const struct ptx_inst *inst)
{
	return ptx_has(&inst->mods, PTX_MOD_CC);
}

static inline bool ptx_reads_carry(const struct ptx_inst *inst)
{
	return inst->op == PTX_OP_ADDC || inst->op == PTX_OP_SUBC || inst->op == PTX_OP_MADC;
}

static inline bool ptx_uses_carry(const struct ptx_inst *inst)
{
	return ptx_writes_carry(inst) || ptx_reads_carry(inst);
}

/* A barrier for all threads of the block, with a valid number. */
static inline bool ptx_is_for_all(const struct ptx_inst *inst)
{
	return (inst->op == PTX_OP_BAR_SYNC || inst->op == PTX_OP_BARRIER_SYNC)
		&& inst->operand_count == 1 && inst->operands[0].kind == PTX_INT
		&& (uint64_t)inst->operands[0].value < 16;
}

/* Whether ld or st has an order, or is volatile: others may write there, or read, at any time. */
static inline bool ptx_is_strong(const struct ptx_inst *inst)
{
	static const enum ptx_mod strong[] = {PTX_MOD_VOLATILE, PTX_MOD_RELAXED, PTX_MOD_ACQUIRE,
		PTX_MOD_RELEASE, PTX_MOD_ACQ_REL, PTX_MOD_SC, PTX_MOD_MMIO, PTX_MOD_CV};
	bool is = false;
	for (size_t i = 0; i < countof(strong); i++) {
		is |= ptx_has(&inst->mods, strong[i]);
	}
	return is;
}

struct ptx_label {
	const char *name;
	size_t inst;                  /* index of the instruction it stands before */
};

/* By ssa.c: a value that depends on the block from which control came. */
struct ptx_phi {
	unsigned value;
	unsigned *args;               /* one for each of ptx_block.pred; of block 0 also the one of
	                               * the entry, after them */
};

/* By ssa.c. */
#define PTX_NO_VALUE UINT32_MAX
struct ptx_value {
	unsigned reg;
	unsigned old;                 /* what a guarded write leaves where the guard is false */
	bool is_zero;                 /* of a register that is not written yet */
};

/* By ssa.c: a register, and the number of the value that it holds. */
struct ptx_held {
	unsigned reg, value;
};

/* A basic block: instructions [first, end).  Made by cfg.c. */
struct ptx_block {
	size_t first;
	size_t end;
	size_t *succ;                 /* fall-through first, if it falls through; then targets */
	size_t succ_count;
	size_t *pred;
	size_t pred_count;
	const uint64_t **live_in;     /* registers that are live at its start: see cfg.h */
	size_t rpo;                   /* place in reverse post-order; SIZE_MAX if unreachable */
	size_t ipdom;                 /* immediate post-dominator; SIZE_MAX: the exit */
	struct ptx_phi *phis;         /* by ssa.c */
	size_t phi_count;
	struct ptx_held *held;        /* by ssa.c: what is live at the end of a block with several
	                               * successors, in the order of the registers */
	size_t held_count;
	bool in_loop;                 /* can be reached from itself */
};

/* A kernel, a function, or the prototype of one. */
struct ptx_func {
	const char *name;
	size_t index;                 /* place in ptx_module.funcs */
	uint64_t address;             /* what a pointer to it holds, if there is any; see
	                                 flatten.c */
	struct ptx_diag *refusal;     /* why no kernel may call it, NULL: it may */
	struct ptx_var **params;      /* in order; offsets as cuLaunchKernel lays them out */
	size_t param_count;
	size_t param_size;
	struct ptx_var **returns;
	size_t return_count;
	struct ptx_reg *regs;
	size_t reg_count;
	struct ptx_var **vars;        /* LOCAL, SHARED and argument variables of the body; module
	                               * scope SHARED ones that it names are here as copies */
	size_t var_count;
	size_t local_size;            /* bytes per thread, a multiple of their largest alignment */
	size_t shared_size;           /* static shared bytes per block, module's included; dynamic
	                               * shared memory, if used, starts right here */
	struct ptx_inst *insts;
	size_t inst_count;
	struct ptx_label *labels;
	size_t label_count;
	struct ptx_block *blocks;
	size_t block_count;
	struct ptx_scope **scopes;    /* by debug_scope.c, the function itself first */
	size_t scope_count;
	size_t debug_size;            /* bytes of the debug area of a thread, after its head */
	struct ptx_value *values;     /* by ssa.c, which makes the registers webs */
	size_t value_count;
	const struct lexer *late;     /* a kernel of parse_declarations: at its name in the text */
	uint32_t max_ntid[3];         /* .maxntid, 0 if absent */
	uint32_t req_ntid[3];         /* .reqntid, 0 if absent */
	uint32_t max_registers;       /* .maxnreg, 0 if absent */
	int line;
	bool is_entry;
	bool is_extern;               /* a declaration: vprintf, malloc, ... */
	bool is_lowered;              /* by lower.c */
	bool is_blamed;               /* by blame.c */
	bool has_loop;                /* among its blocks */
	bool uses_stack;              /* by flatten.c: a kernel that needs more than local_size */
	bool uses_heap;               /* and one that calls malloc */
	bool uses_print;              /* and one that calls vprintf */
	bool uses_reserved_shared;    /* and one that asks where the memory is that is reserved in
	                               * each block's shared memory */
	bool uses_dynamic_shared;
	bool releases;                /* by flatten.c: a kernel that may order what a thread did and
	                               * what others of its block do, */
	bool releases_beyond_block;   /* and what other blocks do */
};

struct ptx_module {
	struct arena arena;
	struct arena opcodes;   /* those that were met, for all kernels */
	struct hash text_hash;  /* of all of its text */
	size_t text_size;
	int version;                  /* 90 for .version 9.0 */
	int target;                   /* 89 for .target sm_89 */
	struct ptx_var **vars;        /* CONST and GLOBAL, in order of appearance */
	size_t var_count;
	struct ptx_var **shared;      /* SHARED variables of module scope */
	size_t shared_count;
	struct ptx_func **funcs;
	size_t func_count;
	const char **files;           /* .file N "name": files[N], NULL where absent */
	size_t file_count;
	struct ptx_section *sections;
	size_t section_count;
	const struct dwarf_die *dwarf; /* by dwarf.c: the compile unit */
	bool is_separable;            /* each kernel can be read by itself: none declares variables
	                               * of the module, no function's address is taken */
	bool is_scheduled;            /* threads yield before they access memory that others may
	                               * access, too */
	unsigned blamed;              /* by the caller: the checks for which blame.c rewrites its
	                               * kernels, a set */
	struct parser *parser;        /* by parse_declarations, for parse_kernel */
	bool is_debugged;             /* by the caller: a debugger shall see its kernels */
};

/* Functions that are declared .extern and that the device has: name, and the sizes of results and
 * parameters. */
#define PTX_RUNTIME(X) \
	X(PRINT, "vprintf", "4,(8,8,") \
	X(ASSERT, "__assertfail", "(8,8,4,8,8,") \
	X(MALLOC, "malloc", "8,(8,") \
	X(FREE, "free", "(8,") \
	X(CONDITION, "cudaGraphSetConditional", "(8,4,")

enum ptx_runtime {
#define X(name, spelling, sizes) PTX_RUNTIME_##name,
	PTX_RUNTIME(X)
#undef X
	PTX_RUNTIME_COUNT
};

/* PTX_RUNTIME_COUNT if it is not a function of the runtime. */
enum ptx_runtime ptx_runtime_find(const struct ptx_func *func);

/* Is it the dynamic shared memory of a launch?  Taichi declares arrays extern that are not. */
static inline bool ptx_is_dynamic(const struct ptx_var *var)
{
	return var->space == PTX_SHARED && var->is_extern && var->size == 0;
}

/* The first thing wrong with a module.  All stages fill in the same one. */
struct ptx_diag {
	int line;
	int column;
	bool no_memory;
	bool unsupported;             /* valid PTX that this device does not run */
	bool newer;                   /* PTX of a version that is not known here */
	bool no_compiler;             /* LLVM's part cannot be loaded */
	char message[256];            /* "unknown instruction 'foo.u32'" */
};

/* Always returns false, so that a stage can end with it. */
bool ptx_fail(struct ptx_diag *diag, int line, int column, const char *format, ...)
	printf_like(4, 5);
bool ptx_unsupported(struct ptx_diag *diag, int line, int column, const char *format, ...)
	printf_like(4, 5);
static inline bool ptx_no_memory(struct ptx_diag *diag)
{
	*diag = (struct ptx_diag){.no_memory = true, .message = "out of memory"};
	return false;
}

/* Make out of an opcode as written everything that ptx.def says of it: op, text, types, mods,
 * space; other fields of *out stay.  False, with a reason in diag, if the opcode does not exist. */
bool ptx_opcode(struct ptx_inst *out, const char *text, struct ptx_diag *diag, int line,
	int column);
/* Bytes that a load, a store or an atomic operation accesses in each thread. */
uint32_t ptx_access_size(const struct ptx_inst *inst);
/* Whether an opcode as written has this part between dots, modifier or not. */
bool ptx_names(const struct ptx_inst *inst, const char *part);

/* What a symbol is called in the source, "ns::scale<float>", of a kernel's variable "tile"; where
 * that is not known, "<...>" or the symbol itself. */
void ptx_write_name(char *out, size_t size, const char *symbol);
/* The name of the function that an inlined place is in; NULL: unknown. */
const char *ptx_loc_function(const struct ptx_module *module, const struct ptx_loc *loc);
const struct ptx_section *ptx_section_find(const struct ptx_module *module, const char *name);

/* Loads that are not surely from shared, local or constant memory; whether there are at most so
 * many. */
bool ptx_reads_memory(const struct ptx_inst *inst);
bool ptx_reads_few(const struct ptx_func *func, unsigned most);
/* Whether there are at most so many stores, to any memory. */
bool ptx_writes_few(const struct ptx_func *func, unsigned most);

/* How tex, tld4, suld, sust and sured give a place, in the order of enum geometry in
 * texture_fetch.h. */
struct ptx_geometry {
	const char *part;    /* "a2d" */
	uint8_t elements;    /* of the vector of coordinates; a fourth one is never read */
	uint8_t dimensions;  /* of them, coordinates */
	bool is_layered;     /* the first one is the layer */
};
extern const struct ptx_geometry ptx_geometries[];
/* The index of the geometry that an opcode names. */
size_t ptx_geometry_of(const struct ptx_inst *inst);
/* The type spelled so, PTX_NONE if there is none. */
enum ptx_type ptx_type_find(const char *text, size_t len);

/* Whether a video instruction of 1, 2 or 4 parts takes a selector, "" being none. */
bool ptx_select_fits(const char *select, unsigned parts, bool written);

/* parse.h: bool parse_module(struct ptx_module *out, const char *text, size_t size, diag);
 *          void parse_free(struct ptx_module *module);
 * check.h: bool check_module(struct ptx_module *module, diag);
 * cfg.h:   bool cfg_build(struct ptx_module *module, struct ptx_func *func, diag); */

#endif
