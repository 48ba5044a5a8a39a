/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_PREPROCESSOR_H
#define KUDZU_PREPROCESSOR_H

/*
 * What KZ_ARGS and KZ_SHAPE need from the C preprocessor, in strict C11: count up to 64 arguments,
 * tell none from one, apply a macro to each.  Not an interface of its own.
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
 * function-like macro name is put before it and parentheses behind it: only for nothing at all does
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

/* KZ_PP_MAP(f, a, b) is f(a), f(b). */
#define KZ_PP_MAP(f, ...) KZ_PP_CAT(KZ_PP_MAP_, KZ_PP_COUNT(__VA_ARGS__))(f, __VA_ARGS__)
#define KZ_PP_MAP_1(f, a) f(a)
#define KZ_PP_MAP_2(f, a, ...) f(a), KZ_PP_MAP_1(f, __VA_ARGS__)
#define KZ_PP_MAP_3(f, a, ...) f(a), KZ_PP_MAP_2(f, __VA_ARGS__)
#define KZ_PP_MAP_4(f, a, ...) f(a), KZ_PP_MAP_3(f, __VA_ARGS__)
#define KZ_PP_MAP_5(f, a, ...) f(a), KZ_PP_MAP_4(f, __VA_ARGS__)
#define KZ_PP_MAP_6(f, a, ...) f(a), KZ_PP_MAP_5(f, __VA_ARGS__)
#define KZ_PP_MAP_7(f, a, ...) f(a), KZ_PP_MAP_6(f, __VA_ARGS__)
#define KZ_PP_MAP_8(f, a, ...) f(a), KZ_PP_MAP_7(f, __VA_ARGS__)
#define KZ_PP_MAP_9(f, a, ...) f(a), KZ_PP_MAP_8(f, __VA_ARGS__)
#define KZ_PP_MAP_10(f, a, ...) f(a), KZ_PP_MAP_9(f, __VA_ARGS__)
#define KZ_PP_MAP_11(f, a, ...) f(a), KZ_PP_MAP_10(f, __VA_ARGS__)
#define KZ_PP_MAP_12(f, a, ...) f(a), KZ_PP_MAP_11(f, __VA_ARGS__)
#define KZ_PP_MAP_13(f, a, ...) f(a), KZ_PP_MAP_12(f, __VA_ARGS__)
#define KZ_PP_MAP_14(f, a, ...) f(a), KZ_PP_MAP_13(f, __VA_ARGS__)
#define KZ_PP_MAP_15(f, a, ...) f(a), KZ_PP_MAP_14(f, __VA_ARGS__)
#define KZ_PP_MAP_16(f, a, ...) f(a), KZ_PP_MAP_15(f, __VA_ARGS__)
#define KZ_PP_MAP_17(f, a, ...) f(a), KZ_PP_MAP_16(f, __VA_ARGS__)
#define KZ_PP_MAP_18(f, a, ...) f(a), KZ_PP_MAP_17(f, __VA_ARGS__)
#define KZ_PP_MAP_19(f, a, ...) f(a), KZ_PP_MAP_18(f, __VA_ARGS__)
#define KZ_PP_MAP_20(f, a, ...) f(a), KZ_PP_MAP_19(f, __VA_ARGS__)
#define KZ_PP_MAP_21(f, a, ...) f(a), KZ_PP_MAP_20(f, __VA_ARGS__)
#define KZ_PP_MAP_22(f, a, ...) f(a), KZ_PP_MAP_21(f, __VA_ARGS__)
#define KZ_PP_MAP_23(f, a, ...) f(a), KZ_PP_MAP_22(f, __VA_ARGS__)
#define KZ_PP_MAP_24(f, a, ...) f(a), KZ_PP_MAP_23(f, __VA_ARGS__)
#define KZ_PP_MAP_25(f, a, ...) f(a), KZ_PP_MAP_24(f, __VA_ARGS__)
#define KZ_PP_MAP_26(f, a, ...) f(a), KZ_PP_MAP_25(f, __VA_ARGS__)
#define KZ_PP_MAP_27(f, a, ...) f(a), KZ_PP_MAP_26(f, __VA_ARGS__)
#define KZ_PP_MAP_28(f, a, ...) f(a), KZ_PP_MAP_27(f, __VA_ARGS__)
#define KZ_PP_MAP_29(f, a, ...) f(a), KZ_PP_MAP_28(f, __VA_ARGS__)
#define KZ_PP_MAP_30(f, a, ...) f(a), KZ_PP_MAP_29(f, __VA_ARGS__)
#define KZ_PP_MAP_31(f, a, ...) f(a), KZ_PP_MAP_30(f, __VA_ARGS__)
#define KZ_PP_MAP_32(f, a, ...) f(a), KZ_PP_MAP_31(f, __VA_ARGS__)
#define KZ_PP_MAP_33(f, a, ...) f(a), KZ_PP_MAP_32(f, __VA_ARGS__)
#define KZ_PP_MAP_34(f, a, ...) f(a), KZ_PP_MAP_33(f, __VA_ARGS__)
#define KZ_PP_MAP_35(f, a, ...) f(a), KZ_PP_MAP_34(f, __VA_ARGS__)
#define KZ_PP_MAP_36(f, a, ...) f(a), KZ_PP_MAP_35(f, __VA_ARGS__)
#define KZ_PP_MAP_37(f, a, ...) f(a), KZ_PP_MAP_36(f, __VA_ARGS__)
#define KZ_PP_MAP_38(f, a, ...) f(a), KZ_PP_MAP_37(f, __VA_ARGS__)
#define KZ_PP_MAP_39(f, a, ...) f(a), KZ_PP_MAP_38(f, __VA_ARGS__)
#define KZ_PP_MAP_40(f, a, ...) f(a), KZ_PP_MAP_39(f, __VA_ARGS__)
#define KZ_PP_MAP_41(f, a, ...) f(a), KZ_PP_MAP_40(f, __VA_ARGS__)
#define KZ_PP_MAP_42(f, a, ...) f(a), KZ_PP_MAP_41(f, __VA_ARGS__)
#define KZ_PP_MAP_43(f, a, ...) f(a), KZ_PP_MAP_42(f, __VA_ARGS__)
#define KZ_PP_MAP_44(f, a, ...) f(a), KZ_PP_MAP_43(f, __VA_ARGS__)
#define KZ_PP_MAP_45(f, a, ...) f(a), KZ_PP_MAP_44(f, __VA_ARGS__)
#define KZ_PP_MAP_46(f, a, ...) f(a), KZ_PP_MAP_45(f, __VA_ARGS__)
#define KZ_PP_MAP_47(f, a, ...) f(a), KZ_PP_MAP_46(f, __VA_ARGS__)
#define KZ_PP_MAP_48(f, a, ...) f(a), KZ_PP_MAP_47(f, __VA_ARGS__)
#define KZ_PP_MAP_49(f, a, ...) f(a), KZ_PP_MAP_48(f, __VA_ARGS__)
#define KZ_PP_MAP_50(f, a, ...) f(a), KZ_PP_MAP_49(f, __VA_ARGS__)
#define KZ_PP_MAP_51(f, a, ...) f(a), KZ_PP_MAP_50(f, __VA_ARGS__)
#define KZ_PP_MAP_52(f, a, ...) f(a), KZ_PP_MAP_51(f, __VA_ARGS__)
#define KZ_PP_MAP_53(f, a, ...) f(a), KZ_PP_MAP_52(f, __VA_ARGS__)
#define KZ_PP_MAP_54(f, a, ...) f(a), KZ_PP_MAP_53(f, __VA_ARGS__)
#define KZ_PP_MAP_55(f, a, ...) f(a), KZ_PP_MAP_54(f, __VA_ARGS__)
#define KZ_PP_MAP_56(f, a, ...) f(a), KZ_PP_MAP_55(f, __VA_ARGS__)
#define KZ_PP_MAP_57(f, a, ...) f(a), KZ_PP_MAP_56(f, __VA_ARGS__)
#define KZ_PP_MAP_58(f, a, ...) f(a), KZ_PP_MAP_57(f, __VA_ARGS__)
#define KZ_PP_MAP_59(f, a, ...) f(a), KZ_PP_MAP_58(f, __VA_ARGS__)
#define KZ_PP_MAP_60(f, a, ...) f(a), KZ_PP_MAP_59(f, __VA_ARGS__)
#define KZ_PP_MAP_61(f, a, ...) f(a), KZ_PP_MAP_60(f, __VA_ARGS__)
#define KZ_PP_MAP_62(f, a, ...) f(a), KZ_PP_MAP_61(f, __VA_ARGS__)
#define KZ_PP_MAP_63(f, a, ...) f(a), KZ_PP_MAP_62(f, __VA_ARGS__)
#define KZ_PP_MAP_64(f, a, ...) f(a), KZ_PP_MAP_63(f, __VA_ARGS__)

#endif
