/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_LAYOUT_H
#define KUDZU_LAYOUT_H

/*
 * Structs that host and device share: check that both sides place each member at the same offset.
 *
 *	struct particle { double mass; float position[3]; int id; };
 *	...
 *	if (kz_layout_check(source, NULL,
 *		    KZ_LAYOUT(struct particle, mass, position, id), &err)) {
 *		kz_error_print(&err, stderr);
 *	}
 *	member 'id' of 'struct particle': offset 20 on the host, 24 on the device
 *
 * This needs no device: it asks the compiler.
 */
#include <kudzu/image.h>
#include <kudzu/preprocessor.h>

#include <stddef.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#endif

/** What kind of number a member is.  The numbers never change. */
typedef enum kz_layout_kind {
	KZ_LAYOUT_OTHER = 0, /**< a struct, array, pointer, enum, char; only its size is compared */
	KZ_LAYOUT_BOOL = 1,
	KZ_LAYOUT_INT = 2,
	KZ_LAYOUT_UINT = 3,
	KZ_LAYOUT_FLOAT = 4
} kz_layout_kind;

/** A member, as the host has it. */
typedef struct kz_layout_member {
	const char *name;    /**< its name in the source of the kernel */
	size_t offset;       /**< bytes */
	size_t size;         /**< bytes */
	kz_layout_kind kind; /**< the kind of number */
} kz_layout_member;

/** A struct, as the host has it. */
typedef struct kz_layout {
	const char *type;    /**< its name in the source of the kernel */
	size_t size;         /**< bytes */
	size_t align;        /**< bytes */
	const kz_layout_member *members; /**< `count` of them, borrowed */
	size_t count;        /**< number of members */
} kz_layout;

/**
 * KZ_LAYOUT(type, member, ...): describe a struct and 1 to 63 of its members, which have the same
 * names in the program and in the source of the kernel.  A bit-field has no offset and cannot be a
 * member here.  The list lives until the end of the enclosing block (in C++: of the full
 * expression).
 */
#ifndef __cplusplus
#define KZ_LAYOUT(type, ...) \
	((kz_layout){#type, sizeof(type), _Alignof(type), \
		(const kz_layout_member[]){KZ_PP_MAP_WITH(KZ_LAYOUT_MEMBER, type, __VA_ARGS__)}, \
		KZ_PP_COUNT(__VA_ARGS__)})
#define KZ_LAYOUT_KIND(type, member) _Generic(&((type *)0)->member, \
	_Bool *: KZ_LAYOUT_BOOL, signed char *: KZ_LAYOUT_INT, short *: KZ_LAYOUT_INT, \
	int *: KZ_LAYOUT_INT, long *: KZ_LAYOUT_INT, long long *: KZ_LAYOUT_INT, \
	unsigned char *: KZ_LAYOUT_UINT, unsigned short *: KZ_LAYOUT_UINT, \
	unsigned int *: KZ_LAYOUT_UINT, unsigned long *: KZ_LAYOUT_UINT, \
	unsigned long long *: KZ_LAYOUT_UINT, \
	float *: KZ_LAYOUT_FLOAT, double *: KZ_LAYOUT_FLOAT, default: KZ_LAYOUT_OTHER)
#else
#define KZ_LAYOUT(type, ...) \
	(kz_layout_list<KZ_PP_COUNT(__VA_ARGS__)>{#type, sizeof(type), alignof(type), \
		{KZ_PP_MAP_WITH(KZ_LAYOUT_MEMBER, type, __VA_ARGS__)}})
#define KZ_LAYOUT_KIND(type, member) kz_layout_kind_of<decltype(type::member)>()
#endif
#define KZ_LAYOUT_MEMBER(type, member) \
	{#member, offsetof(type, member), sizeof(((type *)0)->member), \
		KZ_LAYOUT_KIND(type, member)}

/**
 * Compare a struct of the program with the struct of the same name in a kernel's source.
 *
 * This compares the size and alignment, and for each given member the offset, the size and, for
 * numbers, the kind.  It compiles the source once more, as kz_compile does with these options.  The
 * cache has the answer the next time.
 *
 * @param source of the kernels, which declares the struct or includes a header that does.
 * @param options as for kz_module_compile; NULL for the defaults.
 * @param layout KZ_LAYOUT(...), or filled in by hand where the names differ.
 * @return KZ_OK; KZ_ARGUMENT if host and device differ, with the member and both values;
 *         KZ_NOT_FOUND if the source has no such type or member; else as kz_compile.
 */
KZ_API KZ_NODISCARD kz_status kz_layout_check(const char *source, const kz_compile_options *options,
	kz_layout layout, kz_error *err);

#ifdef __cplusplus
}

template <class T>
constexpr kz_layout_kind kz_layout_kind_of()
{
	return std::is_same<T, bool>::value ? KZ_LAYOUT_BOOL
		: std::is_same<T, float>::value || std::is_same<T, double>::value ? KZ_LAYOUT_FLOAT
		: !std::is_integral<T>::value || std::is_same<T, char>::value ? KZ_LAYOUT_OTHER
		: std::is_signed<T>::value ? KZ_LAYOUT_INT : KZ_LAYOUT_UINT;
}

/** The list behind KZ_LAYOUT in C++. */
template <size_t N>
struct kz_layout_list {
	const char *type;
	size_t size, align;
	kz_layout_member members[N];
	operator kz_layout() const { return kz_layout{type, size, align, members, N}; }
};
#endif

#endif
