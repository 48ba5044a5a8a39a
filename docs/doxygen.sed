# SPDX-License-Identifier: MIT
# What Doxygen reads instead of a header.  Its opening comment is the file's; the fixed words of our
# comments are headings; names that are the same each time get their words here; and what macros
# need inside, and room for later, is not shown.
0,/^\/\*$/s//\/** @file/
s/^ \* \(Ownership\|Async\|Threads\): */ * @par \1\n * /
s/\([.;]\) \(Ownership\|Async\|Threads\): */\1\n * @par \2\n * /
/^#define \(KZ_PP_\|KZ_\(AFTER\|ARGS\|VARS\|SHAPE\|AXES\|AT\|SLICE\|APPLY\|APPLY_INTO\)_[0-9]\|KZ_\(ARG\|VAR\)_DEFINE\|KZ_ARG(\|KZ_\(VAR_NAMED\|SHAPE_NDIM\|AT_ITEM\|LAYOUT_KIND\|LAYOUT_MEMBER\|ARRAYS_ITEM\)(\)/{
:more
/\\$/{
N
b more
}
s/[^\n]*//g
}
s/^\t.* \**reserved\(_int\)\?\(\[[0-9]\]\)\?;$//
s/^#define KZ_[A-Z_]*_INIT /\/** What such a struct begins as: its size, and all else default. *\/ &/
s/^#define kz_[a-z_0-9]*(out, .*KZ_APPLY_[123](\(KZ_OP_[A-Z0-9_]*\),.*/\/** kz_apply() with \1: x, y and z are arrays or numbers. *\/ &/
s/^#define kz_[a-z_0-9]*_into(into, .*KZ_APPLY_INTO_[123](\(KZ_OP_[A-Z0-9_]*\),.*/\/** kz_apply_into() with \1: x, y and z are arrays or numbers. *\/ &/
s/^#define kz_[a-z_]*(out, array, axes, err) \\$/\/** kz_reduce() with the operation of this name, and default options. *\/ &/
s/^#define kz_random_[a-z_]*(out, rng, .*\\$/\/** kz_random_draw() with the distribution of this name, and default options. *\/ &/
s/^#define kz_[a-z_]*_get(out, array, err) \\$/\/** kz_reduce_get_as() with the operation of this name and the C type of `out`. *\/ &/
