/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_PREPROCESSOR_H
#define KUDZU_PREPROCESSOR_H

/*
 * Macros for KZ_ARGS, KZ_SHAPE and KZ_LAYOUT, in strict C11: count up to 64 arguments, tell none
 * from one, apply a macro to each.  Programs should not use them.
 */
#define KZ_PP_CAT(a, b) KZ_PP_CAT_(a, b)
#define KZ_PP_CAT_(a, b) a##b

/* KZ_PP_COUNT(a, b, c) is 3; for no argument at all it says 1. */
#define KZ_PP_COUNT(...) KZ_PP_ITEM_65(__VA_ARGS__, \
	64, 63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, \
	48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, \
	32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, \
	16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define KZ_PP_HAS_COMMA(...) KZ_PP_ITEM_65(__VA_ARGS__, \
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, \
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define KZ_PP_ITEM_65( \
	a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, \
	a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, \
	a33, a34, a35, a36, a37, a38, a39, a40, a41, a42, a43, a44, a45, a46, a47, a48, \
	a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62, a63, a64, \
	a65, ...) a65

/*
 * 1 for no argument, else 0.  One empty argument is told from a real one by what happens when a
 * function-like macro name is put before it and parentheses after it: only for nothing at all does
 * a comma appear in exactly the last of the four trials.
 */
#define KZ_PP_COMMA(...) ,
#define KZ_PP_IS_EMPTY(...) KZ_PP_IS_EMPTY_( \
	KZ_PP_HAS_COMMA(__VA_ARGS__), \
	KZ_PP_HAS_COMMA(KZ_PP_COMMA __VA_ARGS__), \
	KZ_PP_HAS_COMMA(__VA_ARGS__ ()), \
	KZ_PP_HAS_COMMA(KZ_PP_COMMA __VA_ARGS__ ()))
#define KZ_PP_IS_EMPTY_(a, b, c, d) KZ_PP_HAS_COMMA(KZ_PP_CASE(a, b, c, d))
#define KZ_PP_CASE(a, b, c, d) KZ_PP_CASE_(a, b, c, d)
#define KZ_PP_CASE_(a, b, c, d) KZ_PP_CASE_##a##b##c##d
#define KZ_PP_CASE_0001 ,

/* KZ_PP_MAP(f, a, b) is f(a), f(b); KZ_PP_MAP_WITH(f, x, a, b) is f(x, a), f(x, b). */
#define KZ_PP_MAP(f, ...) KZ_PP_MAP_WITH(KZ_PP_CALL, f, __VA_ARGS__)
#define KZ_PP_CALL(f, a) f(a)
#define KZ_PP_MAP_WITH(f, x, ...) \
	KZ_PP_CAT(KZ_PP_MAP_, KZ_PP_COUNT(__VA_ARGS__))(f, x, __VA_ARGS__)
#define KZ_PP_MAP_1(f, x, a) f(x, a)
#define KZ_PP_MAP_2(f, x, a, ...) f(x, a), KZ_PP_MAP_1(f, x, __VA_ARGS__)
#define KZ_PP_MAP_3(f, x, a, ...) f(x, a), KZ_PP_MAP_2(f, x, __VA_ARGS__)
#define KZ_PP_MAP_4(f, x, a, ...) f(x, a), KZ_PP_MAP_3(f, x, __VA_ARGS__)
#define KZ_PP_MAP_5(f, x, a, ...) f(x, a), KZ_PP_MAP_4(f, x, __VA_ARGS__)
#define KZ_PP_MAP_6(f, x, a, ...) f(x, a), KZ_PP_MAP_5(f, x, __VA_ARGS__)
#define KZ_PP_MAP_7(f, x, a, ...) f(x, a), KZ_PP_MAP_6(f, x, __VA_ARGS__)
#define KZ_PP_MAP_8(f, x, a, ...) f(x, a), KZ_PP_MAP_7(f, x, __VA_ARGS__)
#define KZ_PP_MAP_9(f, x, a, ...) f(x, a), KZ_PP_MAP_8(f, x, __VA_ARGS__)
#define KZ_PP_MAP_10(f, x, a, ...) f(x, a), KZ_PP_MAP_9(f, x, __VA_ARGS__)
#define KZ_PP_MAP_11(f, x, a, ...) f(x, a), KZ_PP_MAP_10(f, x, __VA_ARGS__)
#define KZ_PP_MAP_12(f, x, a, ...) f(x, a), KZ_PP_MAP_11(f, x, __VA_ARGS__)
#define KZ_PP_MAP_13(f, x, a, ...) f(x, a), KZ_PP_MAP_12(f, x, __VA_ARGS__)
#define KZ_PP_MAP_14(f, x, a, ...) f(x, a), KZ_PP_MAP_13(f, x, __VA_ARGS__)
#define KZ_PP_MAP_15(f, x, a, ...) f(x, a), KZ_PP_MAP_14(f, x, __VA_ARGS__)
#define KZ_PP_MAP_16(f, x, a, ...) f(x, a), KZ_PP_MAP_15(f, x, __VA_ARGS__)
#define KZ_PP_MAP_17(f, x, a, ...) f(x, a), KZ_PP_MAP_16(f, x, __VA_ARGS__)
#define KZ_PP_MAP_18(f, x, a, ...) f(x, a), KZ_PP_MAP_17(f, x, __VA_ARGS__)
#define KZ_PP_MAP_19(f, x, a, ...) f(x, a), KZ_PP_MAP_18(f, x, __VA_ARGS__)
#define KZ_PP_MAP_20(f, x, a, ...) f(x, a), KZ_PP_MAP_19(f, x, __VA_ARGS__)
#define KZ_PP_MAP_21(f, x, a, ...) f(x, a), KZ_PP_MAP_20(f, x, __VA_ARGS__)
#define KZ_PP_MAP_22(f, x, a, ...) f(x, a), KZ_PP_MAP_21(f, x, __VA_ARGS__)
#define KZ_PP_MAP_23(f, x, a, ...) f(x, a), KZ_PP_MAP_22(f, x, __VA_ARGS__)
#define KZ_PP_MAP_24(f, x, a, ...) f(x, a), KZ_PP_MAP_23(f, x, __VA_ARGS__)
#define KZ_PP_MAP_25(f, x, a, ...) f(x, a), KZ_PP_MAP_24(f, x, __VA_ARGS__)
#define KZ_PP_MAP_26(f, x, a, ...) f(x, a), KZ_PP_MAP_25(f, x, __VA_ARGS__)
#define KZ_PP_MAP_27(f, x, a, ...) f(x, a), KZ_PP_MAP_26(f, x, __VA_ARGS__)
#define KZ_PP_MAP_28(f, x, a, ...) f(x, a), KZ_PP_MAP_27(f, x, __VA_ARGS__)
#define KZ_PP_MAP_29(f, x, a, ...) f(x, a), KZ_PP_MAP_28(f, x, __VA_ARGS__)
#define KZ_PP_MAP_30(f, x, a, ...) f(x, a), KZ_PP_MAP_29(f, x, __VA_ARGS__)
#define KZ_PP_MAP_31(f, x, a, ...) f(x, a), KZ_PP_MAP_30(f, x, __VA_ARGS__)
#define KZ_PP_MAP_32(f, x, a, ...) f(x, a), KZ_PP_MAP_31(f, x, __VA_ARGS__)
#define KZ_PP_MAP_33(f, x, a, ...) f(x, a), KZ_PP_MAP_32(f, x, __VA_ARGS__)
#define KZ_PP_MAP_34(f, x, a, ...) f(x, a), KZ_PP_MAP_33(f, x, __VA_ARGS__)
#define KZ_PP_MAP_35(f, x, a, ...) f(x, a), KZ_PP_MAP_34(f, x, __VA_ARGS__)
#define KZ_PP_MAP_36(f, x, a, ...) f(x, a), KZ_PP_MAP_35(f, x, __VA_ARGS__)
#define KZ_PP_MAP_37(f, x, a, ...) f(x, a), KZ_PP_MAP_36(f, x, __VA_ARGS__)
#define KZ_PP_MAP_38(f, x, a, ...) f(x, a), KZ_PP_MAP_37(f, x, __VA_ARGS__)
#define KZ_PP_MAP_39(f, x, a, ...) f(x, a), KZ_PP_MAP_38(f, x, __VA_ARGS__)
#define KZ_PP_MAP_40(f, x, a, ...) f(x, a), KZ_PP_MAP_39(f, x, __VA_ARGS__)
#define KZ_PP_MAP_41(f, x, a, ...) f(x, a), KZ_PP_MAP_40(f, x, __VA_ARGS__)
#define KZ_PP_MAP_42(f, x, a, ...) f(x, a), KZ_PP_MAP_41(f, x, __VA_ARGS__)
#define KZ_PP_MAP_43(f, x, a, ...) f(x, a), KZ_PP_MAP_42(f, x, __VA_ARGS__)
#define KZ_PP_MAP_44(f, x, a, ...) f(x, a), KZ_PP_MAP_43(f, x, __VA_ARGS__)
#define KZ_PP_MAP_45(f, x, a, ...) f(x, a), KZ_PP_MAP_44(f, x, __VA_ARGS__)
#define KZ_PP_MAP_46(f, x, a, ...) f(x, a), KZ_PP_MAP_45(f, x, __VA_ARGS__)
#define KZ_PP_MAP_47(f, x, a, ...) f(x, a), KZ_PP_MAP_46(f, x, __VA_ARGS__)
#define KZ_PP_MAP_48(f, x, a, ...) f(x, a), KZ_PP_MAP_47(f, x, __VA_ARGS__)
#define KZ_PP_MAP_49(f, x, a, ...) f(x, a), KZ_PP_MAP_48(f, x, __VA_ARGS__)
#define KZ_PP_MAP_50(f, x, a, ...) f(x, a), KZ_PP_MAP_49(f, x, __VA_ARGS__)
#define KZ_PP_MAP_51(f, x, a, ...) f(x, a), KZ_PP_MAP_50(f, x, __VA_ARGS__)
#define KZ_PP_MAP_52(f, x, a, ...) f(x, a), KZ_PP_MAP_51(f, x, __VA_ARGS__)
#define KZ_PP_MAP_53(f, x, a, ...) f(x, a), KZ_PP_MAP_52(f, x, __VA_ARGS__)
#define KZ_PP_MAP_54(f, x, a, ...) f(x, a), KZ_PP_MAP_53(f, x, __VA_ARGS__)
#define KZ_PP_MAP_55(f, x, a, ...) f(x, a), KZ_PP_MAP_54(f, x, __VA_ARGS__)
#define KZ_PP_MAP_56(f, x, a, ...) f(x, a), KZ_PP_MAP_55(f, x, __VA_ARGS__)
#define KZ_PP_MAP_57(f, x, a, ...) f(x, a), KZ_PP_MAP_56(f, x, __VA_ARGS__)
#define KZ_PP_MAP_58(f, x, a, ...) f(x, a), KZ_PP_MAP_57(f, x, __VA_ARGS__)
#define KZ_PP_MAP_59(f, x, a, ...) f(x, a), KZ_PP_MAP_58(f, x, __VA_ARGS__)
#define KZ_PP_MAP_60(f, x, a, ...) f(x, a), KZ_PP_MAP_59(f, x, __VA_ARGS__)
#define KZ_PP_MAP_61(f, x, a, ...) f(x, a), KZ_PP_MAP_60(f, x, __VA_ARGS__)
#define KZ_PP_MAP_62(f, x, a, ...) f(x, a), KZ_PP_MAP_61(f, x, __VA_ARGS__)
#define KZ_PP_MAP_63(f, x, a, ...) f(x, a), KZ_PP_MAP_62(f, x, __VA_ARGS__)
#define KZ_PP_MAP_64(f, x, a, ...) f(x, a), KZ_PP_MAP_63(f, x, __VA_ARGS__)

#endif
