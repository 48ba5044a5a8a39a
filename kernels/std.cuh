/* SPDX-License-Identifier: MIT */
/*
 * A small C++ standard library for kernels, where libcu++ is not installed.
 *
 * NVRTC has no standard headers.  <limits>, <tuple> and others are headers in memory, see
 * src/lib/rtc/headers.c.  Each includes its counterpart of libcu++ if there is one, else this file.
 * It has the parts of all of them that kernels use.  Names, types and rules are those of C++17.
 * <cmath> and <complex> are std_math.cuh and std_complex.cuh.
 */
#ifndef KUDZU_STD
#define KUDZU_STD 1

#define KUDZU_HD __host__ __device__

namespace std {

/* --- <cstddef>, <cstdint>, <cstdlib>, <cstring> --- */

using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype((char *)0 - (char *)0);
using nullptr_t = decltype(nullptr);
struct max_align_t { alignas(16) long long integer; };

using ::int8_t;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::uint8_t;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::int_least8_t;
using ::int_least16_t;
using ::int_least32_t;
using ::int_least64_t;
using ::uint_least8_t;
using ::uint_least16_t;
using ::uint_least32_t;
using ::uint_least64_t;
using ::int_fast8_t;
using ::int_fast16_t;
using ::int_fast32_t;
using ::int_fast64_t;
using ::uint_fast8_t;
using ::uint_fast16_t;
using ::uint_fast32_t;
using ::uint_fast64_t;
using ::intptr_t;
using ::uintptr_t;
using ::intmax_t;
using ::uintmax_t;

enum class byte : unsigned char {};

using ::malloc;
using ::free;
using ::memcpy;
using ::memset;

/* --- <type_traits> --- */

template <class T, T v> struct integral_constant {
	static constexpr T value = v;
	using value_type = T;
	using type = integral_constant;
	KUDZU_HD constexpr operator T() const noexcept { return v; }
	KUDZU_HD constexpr T operator()() const noexcept { return v; }
};
template <bool b> using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool b, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool b, class T = void> using enable_if_t = typename enable_if<b, T>::type;

template <bool b, class T, class U> struct conditional { using type = T; };
template <class T, class U> struct conditional<false, T, U> { using type = U; };
template <bool b, class T, class U> using conditional_t = typename conditional<b, T, U>::type;

template <class...> struct conjunction : true_type {};
template <class B> struct conjunction<B> : B {};
template <class B, class... R> struct conjunction<B, R...>
	: conditional_t<bool(B::value), conjunction<R...>, B> {};
template <class...> struct disjunction : false_type {};
template <class B> struct disjunction<B> : B {};
template <class B, class... R> struct disjunction<B, R...>
	: conditional_t<bool(B::value), B, disjunction<R...>> {};
template <class B> struct negation : bool_constant<!bool(B::value)> {};
template <class... B> inline constexpr bool conjunction_v = conjunction<B...>::value;
template <class... B> inline constexpr bool disjunction_v = disjunction<B...>::value;
template <class B> inline constexpr bool negation_v = negation<B>::value;

template <class...> using void_t = void;
template <class T> struct type_identity { using type = T; };
template <class T> using type_identity_t = typename type_identity<T>::type;

template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> struct remove_volatile { using type = T; };
template <class T> struct remove_volatile<volatile T> { using type = T; };
template <class T>
struct remove_cv { using type = typename remove_const<typename remove_volatile<T>::type>::type; };
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T &> { using type = T; };
template <class T> struct remove_reference<T &&> { using type = T; };
template <class T> struct remove_pointer { using type = T; };
template <class T> struct remove_pointer<T *> { using type = T; };
template <class T> struct remove_pointer<T *const> { using type = T; };
template <class T> struct remove_pointer<T *volatile> { using type = T; };
template <class T> struct remove_pointer<T *const volatile> { using type = T; };
template <class T> struct remove_extent { using type = T; };
template <class T> struct remove_extent<T[]> { using type = T; };
template <class T, size_t n> struct remove_extent<T[n]> { using type = T; };
template <class T> struct remove_all_extents { using type = T; };
template <class T>
struct remove_all_extents<T[]> { using type = typename remove_all_extents<T>::type; };
template <class T, size_t n> struct remove_all_extents<T[n]> {
	using type = typename remove_all_extents<T>::type;
};
template <class T>
struct remove_cvref { using type = typename remove_cv<typename remove_reference<T>::type>::type; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using remove_extent_t = typename remove_extent<T>::type;
template <class T> using remove_all_extents_t = typename remove_all_extents<T>::type;
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;

template <class T> struct add_const { using type = const T; };
template <class T> struct add_volatile { using type = volatile T; };
template <class T> struct add_cv { using type = const volatile T; };
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> using add_volatile_t = typename add_volatile<T>::type;
template <class T> using add_cv_t = typename add_cv<T>::type;
template <class T, class = void> struct add_lvalue_reference { using type = T; };
template <class T> struct add_lvalue_reference<T, void_t<T &>> { using type = T &; };
template <class T, class = void> struct add_rvalue_reference { using type = T; };
template <class T> struct add_rvalue_reference<T, void_t<T &&>> { using type = T &&; };
template <class T, class = void> struct add_pointer { using type = T; };
template <class T>
struct add_pointer<T, void_t<remove_reference_t<T> *>> { using type = remove_reference_t<T> *; };
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> KUDZU_HD add_rvalue_reference_t<T> declval() noexcept;

template <class T, class U> struct is_same : false_type {};
template <class T> struct is_same<T, T> : true_type {};
template <class T> struct is_const : false_type {};
template <class T> struct is_const<const T> : true_type {};
template <class T> struct is_volatile : false_type {};
template <class T> struct is_volatile<volatile T> : true_type {};
template <class T> struct is_lvalue_reference : false_type {};
template <class T> struct is_lvalue_reference<T &> : true_type {};
template <class T> struct is_rvalue_reference : false_type {};
template <class T> struct is_rvalue_reference<T &&> : true_type {};
template <class T> struct is_array : false_type {};
template <class T> struct is_array<T[]> : true_type {};
template <class T, size_t n> struct is_array<T[n]> : true_type {};
template <class T> struct rank : integral_constant<size_t, 0> {};
template <class T> struct rank<T[]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, size_t n> struct rank<T[n]> : integral_constant<size_t, rank<T>::value + 1> {};
template <class T, unsigned i = 0> struct extent : integral_constant<size_t, 0> {};
template <class T, unsigned i>
struct extent<T[], i> : integral_constant<size_t, extent<T, i - 1>::value> {};
template <class T> struct extent<T[], 0> : integral_constant<size_t, 0> {};
template <class T, size_t n, unsigned i>
struct extent<T[n], i> : integral_constant<size_t, extent<T, i - 1>::value> {};
template <class T, size_t n> struct extent<T[n], 0> : integral_constant<size_t, n> {};

template <class T> struct kudzu_is_integral : false_type {};
template <class T> struct kudzu_is_floating_point : false_type {};
#define KUDZU_TYPE(T) template <> struct kudzu_is_integral<T> : true_type {};
KUDZU_TYPE(bool) KUDZU_TYPE(char) KUDZU_TYPE(signed char) KUDZU_TYPE(unsigned char)
KUDZU_TYPE(wchar_t) KUDZU_TYPE(char16_t) KUDZU_TYPE(char32_t) KUDZU_TYPE(short)
KUDZU_TYPE(unsigned short) KUDZU_TYPE(int) KUDZU_TYPE(unsigned) KUDZU_TYPE(long)
KUDZU_TYPE(unsigned long) KUDZU_TYPE(long long) KUDZU_TYPE(unsigned long long)
#undef KUDZU_TYPE
template <> struct kudzu_is_floating_point<float> : true_type {};
template <> struct kudzu_is_floating_point<double> : true_type {};
template <> struct kudzu_is_floating_point<long double> : true_type {};

template <class T> struct is_void : is_same<void, remove_cv_t<T>> {};
template <class T> struct is_null_pointer : is_same<nullptr_t, remove_cv_t<T>> {};
template <class T> struct is_integral : kudzu_is_integral<remove_cv_t<T>> {};
template <class T> struct is_floating_point : kudzu_is_floating_point<remove_cv_t<T>> {};
template <class T>
struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <class T> struct is_fundamental
	: disjunction<is_arithmetic<T>, is_void<T>, is_null_pointer<T>> {};
template <class T> struct is_compound : bool_constant<!is_fundamental<T>::value> {};
template <class T> struct is_reference
	: bool_constant<is_lvalue_reference<T>::value || is_rvalue_reference<T>::value> {};
template <class T> struct kudzu_is_pointer : false_type {};
template <class T> struct kudzu_is_pointer<T *> : true_type {};
template <class T> struct is_pointer : kudzu_is_pointer<remove_cv_t<T>> {};
template <class T> struct is_enum : bool_constant<__is_enum(T)> {};
template <class T> struct is_union : bool_constant<__is_union(T)> {};
template <class T> struct is_class : bool_constant<__is_class(T)> {};
template <class T> struct is_function
	: bool_constant<!is_const<const T>::value && !is_reference<T>::value> {};
template <class T> struct is_object
	: bool_constant<!is_function<T>::value && !is_reference<T>::value && !is_void<T>::value> {};
template <class T> struct is_scalar : bool_constant<is_arithmetic<T>::value || is_enum<T>::value
	|| is_pointer<T>::value || is_null_pointer<T>::value> {};
template <class T, bool = is_arithmetic<T>::value>
struct is_signed : bool_constant<(T(-1) < T(0))> {};
template <class T> struct is_signed<T, false> : false_type {};
template <class T, bool = is_arithmetic<T>::value>
struct is_unsigned : bool_constant<(T(0) < T(-1))> {};
template <class T> struct is_unsigned<T, false> : false_type {};
template <class T> struct is_empty : bool_constant<__is_empty(T)> {};
template <class T> struct is_polymorphic : bool_constant<__is_polymorphic(T)> {};
template <class T> struct is_abstract : bool_constant<__is_abstract(T)> {};
template <class T> struct is_final : bool_constant<__is_final(T)> {};
template <class T> struct is_trivial : bool_constant<__is_trivial(T)> {};
template <class T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <class T> struct is_standard_layout : bool_constant<__is_standard_layout(T)> {};
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T> struct is_default_constructible : is_constructible<T> {};
template <class T>
struct is_copy_constructible : is_constructible<T, add_lvalue_reference_t<const T>> {};
template <class T> struct is_move_constructible : is_constructible<T, add_rvalue_reference_t<T>> {};
template <class T, class... A> struct is_trivially_constructible
	: bool_constant<__is_trivially_constructible(T, A...)> {};
template <class T> struct is_trivially_default_constructible : is_trivially_constructible<T> {};
template <class T, class U> struct is_assignable : bool_constant<__is_assignable(T, U)> {};
template <class T> struct is_copy_assignable
	: is_assignable<add_lvalue_reference_t<T>, add_lvalue_reference_t<const T>> {};
template <class T> struct is_move_assignable
	: is_assignable<add_lvalue_reference_t<T>, add_rvalue_reference_t<T>> {};
template <class B, class D> struct is_base_of : bool_constant<__is_base_of(B, D)> {};
template <class F, class T> struct is_convertible : bool_constant<__is_convertible_to(F, T)> {};
template <class T> struct alignment_of : integral_constant<size_t, alignof(T)> {};
template <class T> struct is_aggregate : bool_constant<__is_aggregate(remove_cv_t<T>)> {};
template <class T, class... A>
struct is_nothrow_constructible : bool_constant<__is_nothrow_constructible(T, A...)> {};
template <class T> struct is_nothrow_default_constructible : is_nothrow_constructible<T> {};
template <class T> struct is_nothrow_copy_constructible
	: is_nothrow_constructible<T, add_lvalue_reference_t<const T>> {};
template <class T>
struct is_nothrow_move_constructible : is_nothrow_constructible<T, add_rvalue_reference_t<T>> {};
template <class T> struct is_trivially_copy_constructible
	: is_trivially_constructible<T, add_lvalue_reference_t<const T>> {};
template <class T> struct is_trivially_move_constructible
	: is_trivially_constructible<T, add_rvalue_reference_t<T>> {};
template <class T, class = void> struct is_destructible : is_reference<T> {};
template <class T> struct is_destructible<T,
	void_t<decltype(declval<remove_all_extents_t<T> &>().~remove_all_extents_t<T>())>>
	: true_type {};
template <class T> struct is_trivially_destructible
	: bool_constant<is_destructible<T>::value && __has_trivial_destructor(T)> {};
template <class T> struct kudzu_is_member_pointer : false_type {};
template <class T, class C> struct kudzu_is_member_pointer<T C::*> : true_type {};
template <class T> struct kudzu_is_member_function : false_type {};
template <class T, class C> struct kudzu_is_member_function<T C::*> : is_function<T> {};
template <class T> struct is_member_pointer : kudzu_is_member_pointer<remove_cv_t<T>> {};
template <class T> struct is_member_function_pointer : kudzu_is_member_function<remove_cv_t<T>> {};
template <class T> struct is_member_object_pointer
	: bool_constant<is_member_pointer<T>::value && !is_member_function_pointer<T>::value> {};

template <size_t size, size_t align = size < 16 ? size : 16> struct aligned_storage {
	struct type { alignas(align) unsigned char data[size]; };
};
template <size_t size, size_t align = size < 16 ? size : 16>
using aligned_storage_t = typename aligned_storage<size, align>::type;

#define KUDZU_VALUE(trait) template <class T> inline constexpr bool trait##_v = trait<T>::value;
KUDZU_VALUE(is_const) KUDZU_VALUE(is_volatile) KUDZU_VALUE(is_lvalue_reference)
KUDZU_VALUE(is_rvalue_reference) KUDZU_VALUE(is_array) KUDZU_VALUE(is_void)
KUDZU_VALUE(is_null_pointer) KUDZU_VALUE(is_integral) KUDZU_VALUE(is_floating_point)
KUDZU_VALUE(is_arithmetic) KUDZU_VALUE(is_fundamental) KUDZU_VALUE(is_compound)
KUDZU_VALUE(is_reference) KUDZU_VALUE(is_pointer) KUDZU_VALUE(is_enum) KUDZU_VALUE(is_union)
KUDZU_VALUE(is_class) KUDZU_VALUE(is_function) KUDZU_VALUE(is_object) KUDZU_VALUE(is_scalar)
KUDZU_VALUE(is_signed) KUDZU_VALUE(is_unsigned) KUDZU_VALUE(is_empty) KUDZU_VALUE(is_polymorphic)
KUDZU_VALUE(is_abstract) KUDZU_VALUE(is_final) KUDZU_VALUE(is_trivial)
KUDZU_VALUE(is_trivially_copyable) KUDZU_VALUE(is_standard_layout)
KUDZU_VALUE(is_default_constructible) KUDZU_VALUE(is_copy_constructible)
KUDZU_VALUE(is_move_constructible) KUDZU_VALUE(is_trivially_default_constructible)
KUDZU_VALUE(is_copy_assignable) KUDZU_VALUE(is_move_assignable) KUDZU_VALUE(is_aggregate)
KUDZU_VALUE(is_nothrow_default_constructible) KUDZU_VALUE(is_nothrow_copy_constructible)
KUDZU_VALUE(is_nothrow_move_constructible) KUDZU_VALUE(is_trivially_copy_constructible)
KUDZU_VALUE(is_trivially_move_constructible) KUDZU_VALUE(is_destructible)
KUDZU_VALUE(is_trivially_destructible) KUDZU_VALUE(is_member_pointer)
KUDZU_VALUE(is_member_function_pointer) KUDZU_VALUE(is_member_object_pointer)
#undef KUDZU_VALUE
template <class T, class U> inline constexpr bool is_same_v = is_same<T, U>::value;
template <class B, class D> inline constexpr bool is_base_of_v = is_base_of<B, D>::value;
template <class F, class T> inline constexpr bool is_convertible_v = is_convertible<F, T>::value;
template <class T, class U> inline constexpr bool is_assignable_v = is_assignable<T, U>::value;
template <class T, class... A>
inline constexpr bool is_constructible_v = is_constructible<T, A...>::value;
template <class T, class... A>
inline constexpr bool is_nothrow_constructible_v = is_nothrow_constructible<T, A...>::value;
template <class T, class... A>
inline constexpr bool is_trivially_constructible_v = is_trivially_constructible<T, A...>::value;
template <class T> inline constexpr size_t rank_v = rank<T>::value;
template <class T, unsigned i = 0> inline constexpr size_t extent_v = extent<T, i>::value;
template <class T> inline constexpr size_t alignment_of_v = alignment_of<T>::value;

template <class T> struct underlying_type { using type = __underlying_type(T); };
template <class T> using underlying_type_t = typename underlying_type<T>::type;

/* The integer types of each size; an enumeration takes the one of its size. */
template <size_t size, bool is_signed> struct kudzu_integer;
template <> struct kudzu_integer<1, true> { using type = signed char; };
template <> struct kudzu_integer<2, true> { using type = short; };
template <> struct kudzu_integer<4, true> { using type = int; };
template <> struct kudzu_integer<8, true> { using type = long long; };
template <> struct kudzu_integer<1, false> { using type = unsigned char; };
template <> struct kudzu_integer<2, false> { using type = unsigned short; };
template <> struct kudzu_integer<4, false> { using type = unsigned; };
template <> struct kudzu_integer<8, false> { using type = unsigned long long; };
template <class T, bool is_signed> struct kudzu_with_sign {
	using type = typename kudzu_integer<sizeof(T), is_signed>::type;
};
template <> struct kudzu_with_sign<long, true> { using type = long; };
template <> struct kudzu_with_sign<unsigned long, true> { using type = long; };
template <> struct kudzu_with_sign<long, false> { using type = unsigned long; };
template <> struct kudzu_with_sign<unsigned long, false> { using type = unsigned long; };
template <class T> struct make_signed : kudzu_with_sign<T, true> {};
template <class T> struct make_unsigned : kudzu_with_sign<T, false> {};
template <class T>
struct make_signed<const T> { using type = const typename make_signed<T>::type; };
template <class T>
struct make_unsigned<const T> { using type = const typename make_unsigned<T>::type; };
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;

template <class T> struct decay {
	using plain = remove_reference_t<T>;
	using type = conditional_t<is_array<plain>::value, remove_extent_t<plain> *,
		conditional_t<is_function<plain>::value, add_pointer_t<plain>, remove_cv_t<plain>>>;
};
template <class T> using decay_t = typename decay<T>::type;

template <class... T> struct common_type {};
template <class T> struct common_type<T> : common_type<T, T> {};
template <class T, class U> struct common_type<T, U> {
	using type = decay_t<decltype(false ? declval<decay_t<T>>() : declval<decay_t<U>>())>;
};
template <class T, class U, class... R> struct common_type<T, U, R...>
	: common_type<typename common_type<T, U>::type, R...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;

/* Of functions and objects that are called; not of pointers to members. */
template <class O, class F, class... A> struct kudzu_invoke : false_type {};
template <class F, class... A>
struct kudzu_invoke<void_t<decltype(declval<F>()(declval<A>()...))>, F, A...> : true_type {
	using type = decltype(declval<F>()(declval<A>()...));
};
template <class F, class... A> struct invoke_result : kudzu_invoke<void, F, A...> {};
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;
template <class F, class... A> struct is_invocable : bool_constant<invoke_result<F,
	A...>::value> {};
template <class F, class... A> inline constexpr bool is_invocable_v = is_invocable<F, A...>::value;

#define KUDZU_OPERATOR(op) \
	KUDZU_HD constexpr byte operator op(byte a, byte b) noexcept \
	{ return byte((unsigned)a op (unsigned)b); } \
	KUDZU_HD constexpr byte &operator op##=(byte &a, byte b) noexcept { return a = a op b; }
KUDZU_OPERATOR(&)
KUDZU_OPERATOR(|)
KUDZU_OPERATOR(^)
#undef KUDZU_OPERATOR
#define KUDZU_OPERATOR(op) \
	template <class I, class = enable_if_t<is_integral<I>::value>> \
	KUDZU_HD constexpr byte operator op(byte a, I n) noexcept \
	{ return byte((unsigned)a op n); } \
	template <class I, class = enable_if_t<is_integral<I>::value>> \
	KUDZU_HD constexpr byte &operator op##=(byte &a, I n) noexcept { return a = a op n; }
KUDZU_OPERATOR(<<)
KUDZU_OPERATOR(>>)
#undef KUDZU_OPERATOR
KUDZU_HD constexpr byte operator~(byte a) noexcept { return byte(~(unsigned)a); }
template <class I, class = enable_if_t<is_integral<I>::value>>
KUDZU_HD constexpr I to_integer(byte a) noexcept { return I(a); }

/* --- <utility> --- */

/* NVRTC itself has std::move and std::forward. */

template <class T> KUDZU_HD constexpr void swap(T &a, T &b)
{
	T t = std::move(a);
	a = std::move(b);
	b = std::move(t);
}

template <class T, size_t n> KUDZU_HD constexpr void swap(T (&a)[n], T (&b)[n])
{
	for (size_t i = 0; i < n; i++) {
		swap(a[i], b[i]);
	}
}

template <class T, class U = T> KUDZU_HD constexpr T exchange(T &object, U &&value)
{
	T old = std::move(object);
	object = std::forward<U>(value);
	return old;
}

template <class T> KUDZU_HD constexpr add_const_t<T> &as_const(T &t) noexcept { return t; }

template <class T, T... values> struct integer_sequence {
	using value_type = T;
	KUDZU_HD static constexpr size_t size() noexcept { return sizeof...(values); }
};
template <size_t... values> using index_sequence = integer_sequence<size_t, values...>;
template <class T, size_t n, T... rest>
struct kudzu_sequence : kudzu_sequence<T, n - 1, T(n - 1), rest...> {};
template <class T, T... rest>
struct kudzu_sequence<T, 0, rest...> { using type = integer_sequence<T, rest...>; };
template <class T, T n> using make_integer_sequence = typename kudzu_sequence<T, size_t(n)>::type;
template <size_t n> using make_index_sequence = make_integer_sequence<size_t, n>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

struct piecewise_construct_t { explicit piecewise_construct_t() = default; };
struct in_place_t { explicit in_place_t() = default; };

template <class T, class U> struct pair {
	using first_type = T;
	using second_type = U;
	T first;
	U second;
	KUDZU_HD constexpr pair() : first(), second() {}
	KUDZU_HD constexpr pair(const T &a, const U &b) : first(a), second(b) {}
	template <class A, class B,
		class = enable_if_t<is_constructible<T, A>::value && is_constructible<U, B>::value>>
	KUDZU_HD constexpr pair(A &&a, B &&b)
		: first(std::forward<A>(a)), second(std::forward<B>(b)) {}
	template <class A, class B>
	KUDZU_HD constexpr pair(const pair<A, B> &p) : first(p.first), second(p.second) {}
	constexpr pair(const pair &) = default;
	constexpr pair(pair &&) = default;
	pair &operator=(const pair &) = default;
	pair &operator=(pair &&) = default;
	template <class A, class B> KUDZU_HD constexpr pair &operator=(const pair<A, B> &p)
	{
		first = p.first;
		second = p.second;
		return *this;
	}
	KUDZU_HD constexpr void swap(pair &p)
	{
		std::swap(first, p.first);
		std::swap(second, p.second);
	}
};
template <class T, class U> pair(T, U) -> pair<T, U>;

template <class T, class U> KUDZU_HD constexpr pair<decay_t<T>, decay_t<U>> make_pair(T &&a, U &&b)
{
	return pair<decay_t<T>, decay_t<U>>(std::forward<T>(a), std::forward<U>(b));
}

template <class T, class U>
KUDZU_HD constexpr bool operator==(const pair<T, U> &a, const pair<T, U> &b)
{
	return a.first == b.first && a.second == b.second;
}

template <class T, class U>
KUDZU_HD constexpr bool operator!=(const pair<T, U> &a, const pair<T, U> &b)
{
	return !(a == b);
}

template <class T, class U>
KUDZU_HD constexpr bool operator<(const pair<T, U> &a, const pair<T, U> &b)
{
	return a.first < b.first || (!(b.first < a.first) && a.second < b.second);
}

template <class T, class U>
KUDZU_HD constexpr bool operator>(const pair<T, U> &a, const pair<T, U> &b) { return b < a; }
template <class T, class U>
KUDZU_HD constexpr bool operator<=(const pair<T, U> &a, const pair<T, U> &b) { return !(b < a); }
template <class T, class U>
KUDZU_HD constexpr bool operator>=(const pair<T, U> &a, const pair<T, U> &b) { return !(a < b); }

/* What kernels miss most of <algorithm>. */
template <class T> KUDZU_HD constexpr const T &min(const T &a, const T &b) { return b < a ? b : a; }
template <class T> KUDZU_HD constexpr const T &max(const T &a, const T &b) { return a < b ? b : a; }
template <class T> KUDZU_HD constexpr const T &clamp(const T &x, const T &low, const T &high)
{
	return x < low ? low : high < x ? high : x;
}

/* --- <tuple> --- */

template <class... T> class tuple;
template <class T> struct tuple_size;
template <class T> struct tuple_size<const T> : tuple_size<T> {};
template <class... T> struct tuple_size<tuple<T...>> : integral_constant<size_t, sizeof...(T)> {};
template <class T, class U> struct tuple_size<pair<T, U>> : integral_constant<size_t, 2> {};
template <class T> inline constexpr size_t tuple_size_v = tuple_size<T>::value;

template <size_t i, class T> struct tuple_element;
template <size_t i, class T> struct tuple_element<i, const T> {
	using type = add_const_t<typename tuple_element<i, T>::type>;
};
template <size_t i, class H, class... R>
struct tuple_element<i, tuple<H, R...>> : tuple_element<i - 1, tuple<R...>> {};
template <class H, class... R> struct tuple_element<0, tuple<H, R...>> { using type = H; };
template <class T, class U> struct tuple_element<0, pair<T, U>> { using type = T; };
template <class T, class U> struct tuple_element<1, pair<T, U>> { using type = U; };
template <size_t i, class T> using tuple_element_t = typename tuple_element<i, T>::type;

template <size_t i, class T, class U>
KUDZU_HD constexpr tuple_element_t<i, pair<T, U>> &get(pair<T, U> &p) noexcept
{
	if constexpr (i == 0) {
		return p.first;
	} else {
		return p.second;
	}
}

template <size_t i, class T, class U>
KUDZU_HD constexpr const tuple_element_t<i, pair<T, U>> &get(const pair<T, U> &p) noexcept
{
	return std::get<i>(const_cast<pair<T, U> &>(p));
}

template <size_t i, class T, class U>
KUDZU_HD constexpr tuple_element_t<i, pair<T, U>> &&get(pair<T, U> &&p) noexcept
{
	return static_cast<tuple_element_t<i, pair<T, U>> &&>(std::get<i>(p));
}

template <class T, class U> KUDZU_HD constexpr T &get(pair<T, U> &p) noexcept { return p.first; }
template <class T, class U> KUDZU_HD constexpr T &get(pair<U, T> &p) noexcept { return p.second; }
template <class T, class U>
KUDZU_HD constexpr const T &get(const pair<T, U> &p) noexcept { return p.first; }
template <class T, class U>
KUDZU_HD constexpr const T &get(const pair<U, T> &p) noexcept { return p.second; }

template <size_t i, class... T>
KUDZU_HD constexpr tuple_element_t<i, tuple<T...>> &get(tuple<T...> &t) noexcept;
template <size_t i, class... T>
KUDZU_HD constexpr const tuple_element_t<i, tuple<T...>> &get(const tuple<T...> &t) noexcept;
template <size_t i, class... T>
KUDZU_HD constexpr tuple_element_t<i, tuple<T...>> &&get(tuple<T...> &&t) noexcept;

/* Elements are base classes, told apart by their index. */
template <size_t i, class T> struct kudzu_element {
	T value;
	KUDZU_HD constexpr kudzu_element() : value() {}
	template <class U>
	KUDZU_HD constexpr kudzu_element(in_place_t, U &&u) : value(std::forward<U>(u)) {}
};

template <class I, class... T> struct kudzu_elements;
template <size_t... i, class... T>
struct kudzu_elements<index_sequence<i...>, T...> : kudzu_element<i, T>... {
	constexpr kudzu_elements() = default;
	template <class... U> KUDZU_HD constexpr kudzu_elements(in_place_t, U &&...u)
		: kudzu_element<i, T>(in_place_t(), std::forward<U>(u))... {}
};

template <class... T> class tuple : public kudzu_elements<index_sequence_for<T...>, T...> {
	using base = kudzu_elements<index_sequence_for<T...>, T...>;
	template <size_t... i, class O> KUDZU_HD constexpr tuple(index_sequence<i...>, O &&other)
		: base(in_place_t(), std::get<i>(std::forward<O>(other))...) {}
	template <size_t... i, class O>
	KUDZU_HD constexpr void assign(index_sequence<i...>, const O &other)
	{
		((void)(std::get<i>(*this) = std::get<i>(other)), ...);
	}

public:
	constexpr tuple() = default;
	constexpr tuple(const tuple &) = default;
	constexpr tuple(tuple &&) = default;
	template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T) && sizeof...(U) != 0
		&& conjunction<is_constructible<T, U &&>...>::value>>
	KUDZU_HD constexpr tuple(U &&...u) : base(in_place_t(), std::forward<U>(u)...) {}
	template <class... U, class = enable_if_t<sizeof...(U) == sizeof...(T)
		&& !is_same<tuple, tuple<U...>>::value
		&& conjunction<is_constructible<T, const U &>...>::value>>
	KUDZU_HD constexpr tuple(const tuple<U...> &other)
		: tuple(index_sequence_for<T...>(), other) {}
	template <class A, class B, class = enable_if_t<sizeof...(T) == 2
		&& is_constructible<tuple, const A &, const B &>::value>>
	KUDZU_HD constexpr tuple(const pair<A, B> &p) : base(in_place_t(), p.first, p.second) {}
	KUDZU_HD constexpr tuple &operator=(const tuple &other)
	{
		assign(index_sequence_for<T...>(), other);
		return *this;
	}
	template <class... U> KUDZU_HD constexpr tuple &operator=(const tuple<U...> &other)
	{
		assign(index_sequence_for<T...>(), other);
		return *this;
	}
	template <class A, class B> KUDZU_HD constexpr tuple &operator=(const pair<A, B> &p)
	{
		assign(index_sequence<0, 1>(), p);
		return *this;
	}
};
template <class... T> tuple(T...) -> tuple<T...>;
template <class T, class U> tuple(pair<T, U>) -> tuple<T, U>;

template <size_t i, class T>
KUDZU_HD constexpr T &kudzu_get(kudzu_element<i, T> &e) noexcept { return e.value; }
template <size_t i, class T>
KUDZU_HD constexpr const T &kudzu_get(const kudzu_element<i, T> &e) noexcept { return e.value; }
template <class T, size_t i>
KUDZU_HD constexpr T &kudzu_get_type(kudzu_element<i, T> &e) noexcept { return e.value; }
template <class T, size_t i>
KUDZU_HD constexpr const T &kudzu_get_type(const kudzu_element<i, T> &e) noexcept
{
	return e.value;
}

template <size_t i, class... T>
KUDZU_HD constexpr tuple_element_t<i, tuple<T...>> &get(tuple<T...> &t) noexcept
{
	return kudzu_get<i>(t);
}

template <size_t i, class... T>
KUDZU_HD constexpr const tuple_element_t<i, tuple<T...>> &get(const tuple<T...> &t) noexcept
{
	return kudzu_get<i>(t);
}

template <size_t i, class... T>
KUDZU_HD constexpr tuple_element_t<i, tuple<T...>> &&get(tuple<T...> &&t) noexcept
{
	return static_cast<tuple_element_t<i, tuple<T...>> &&>(kudzu_get<i>(t));
}

template <class E, class... T>
KUDZU_HD constexpr E &get(tuple<T...> &t) noexcept { return kudzu_get_type<E>(t); }
template <class E, class... T>
KUDZU_HD constexpr const E &get(const tuple<T...> &t) noexcept { return kudzu_get_type<E>(t); }

struct kudzu_ignore {
	template <class T>
	KUDZU_HD constexpr const kudzu_ignore &operator=(const T &) const { return *this; }
};
inline constexpr kudzu_ignore ignore{};

template <class... T> KUDZU_HD constexpr tuple<decay_t<T>...> make_tuple(T &&...t)
{
	return tuple<decay_t<T>...>(std::forward<T>(t)...);
}

template <class... T>
KUDZU_HD constexpr tuple<T &...> tie(T &...t) noexcept { return tuple<T &...>(t...); }

template <class... T> KUDZU_HD constexpr tuple<T &&...> forward_as_tuple(T &&...t) noexcept
{
	return tuple<T &&...>(std::forward<T>(t)...);
}

template <class F, class T, size_t... i>
KUDZU_HD constexpr decltype(auto) kudzu_apply(F &&f, T &&t, index_sequence<i...>)
{
	return std::forward<F>(f)(std::get<i>(std::forward<T>(t))...);
}

template <class F, class T> KUDZU_HD constexpr decltype(auto) apply(F &&f, T &&t)
{
	return kudzu_apply(std::forward<F>(f), std::forward<T>(t),
		make_index_sequence<tuple_size_v<remove_reference_t<T>>>());
}

template <class... T, class... U, size_t... i, size_t... k>
KUDZU_HD constexpr tuple<T..., U...> kudzu_cat(const tuple<T...> &a, const tuple<U...> &b,
	index_sequence<i...>, index_sequence<k...>)
{
	return tuple<T..., U...>(std::get<i>(a)..., std::get<k>(b)...);
}

KUDZU_HD constexpr tuple<> tuple_cat() { return tuple<>(); }
template <class... T> KUDZU_HD constexpr tuple<T...> tuple_cat(const tuple<T...> &t) { return t; }
template <class T, class U>
KUDZU_HD constexpr tuple<T, U> tuple_cat(const pair<T, U> &p) { return tuple<T, U>(p); }
template <class A, class B, class... R>
KUDZU_HD constexpr auto tuple_cat(const A &a, const B &b, const R &...rest)
{
	return std::tuple_cat(kudzu_cat(std::tuple_cat(a), std::tuple_cat(b),
		make_index_sequence<tuple_size_v<A>>(),
		make_index_sequence<tuple_size_v<B>>()), rest...);
}

template <size_t i, class... T, class... U>
KUDZU_HD constexpr bool kudzu_equal(const tuple<T...> &a, const tuple<U...> &b)
{
	if constexpr (i == sizeof...(T)) {
		return true;
	} else {
		return get<i>(a) == get<i>(b) && kudzu_equal<i + 1>(a, b);
	}
}

template <size_t i, class... T, class... U>
KUDZU_HD constexpr bool kudzu_less(const tuple<T...> &a, const tuple<U...> &b)
{
	if constexpr (i == sizeof...(T)) {
		return false;
	} else {
		return get<i>(a) < get<i>(b)
			|| (!(get<i>(b) < get<i>(a)) && kudzu_less<i + 1>(a, b));
	}
}

template <class... T, class... U>
KUDZU_HD constexpr bool operator==(const tuple<T...> &a, const tuple<U...> &b)
{
	static_assert(sizeof...(T) == sizeof...(U), "tuples of one size");
	return kudzu_equal<0>(a, b);
}

template <class... T, class... U>
KUDZU_HD constexpr bool operator<(const tuple<T...> &a, const tuple<U...> &b)
{
	static_assert(sizeof...(T) == sizeof...(U), "tuples of one size");
	return kudzu_less<0>(a, b);
}

template <class... T, class... U>
KUDZU_HD constexpr bool operator!=(const tuple<T...> &a, const tuple<U...> &b) { return !(a == b); }
template <class... T, class... U>
KUDZU_HD constexpr bool operator>(const tuple<T...> &a, const tuple<U...> &b) { return b < a; }
template <class... T, class... U>
KUDZU_HD constexpr bool operator<=(const tuple<T...> &a, const tuple<U...> &b) { return !(b < a); }
template <class... T, class... U>
KUDZU_HD constexpr bool operator>=(const tuple<T...> &a, const tuple<U...> &b) { return !(a < b); }

/* --- <array> --- */

template <class T> class reverse_iterator {
	T it;

public:
	using iterator_type = T;
	KUDZU_HD constexpr explicit reverse_iterator(T t = T()) : it(t) {}
	KUDZU_HD constexpr T base() const { return it; }
	KUDZU_HD constexpr decltype(auto) operator*() const { return *(it - 1); }
	KUDZU_HD constexpr auto operator->() const { return &*(it - 1); }
	KUDZU_HD constexpr decltype(auto) operator[](ptrdiff_t n) const { return it[-n - 1]; }
	KUDZU_HD constexpr reverse_iterator &operator++() { --it; return *this; }
	KUDZU_HD constexpr reverse_iterator &operator--() { ++it; return *this; }
	KUDZU_HD constexpr reverse_iterator operator++(int) { return reverse_iterator(it--); }
	KUDZU_HD constexpr reverse_iterator operator--(int) { return reverse_iterator(it++); }
	KUDZU_HD constexpr reverse_iterator operator+(
		ptrdiff_t n) const { return reverse_iterator(it - n); }
	KUDZU_HD constexpr reverse_iterator operator-(
		ptrdiff_t n) const { return reverse_iterator(it + n); }
	KUDZU_HD constexpr ptrdiff_t operator-(const reverse_iterator &o) const { return o.it - it;
		}
	KUDZU_HD constexpr bool operator==(const reverse_iterator &o) const { return it == o.it; }
	KUDZU_HD constexpr bool operator!=(const reverse_iterator &o) const { return it != o.it; }
	KUDZU_HD constexpr bool operator<(const reverse_iterator &o) const { return o.it < it; }
};

template <class T, size_t n> struct array {
	using value_type = T;
	using size_type = size_t;
	using difference_type = ptrdiff_t;
	using reference = T &;
	using const_reference = const T &;
	using pointer = T *;
	using const_pointer = const T *;
	using iterator = T *;
	using const_iterator = const T *;
	using reverse_iterator = std::reverse_iterator<T *>;
	using const_reverse_iterator = std::reverse_iterator<const T *>;
	T elements[n];
	KUDZU_HD constexpr T &operator[](size_t i) { return elements[i]; }
	KUDZU_HD constexpr const T &operator[](size_t i) const { return elements[i]; }
	/* An exception where there are exceptions; a kernel stops. */
	KUDZU_HD constexpr T &at(size_t i)
	{
		if (i >= n) {
			__trap();
		}
		return elements[i];
	}
	KUDZU_HD constexpr const T &at(size_t i) const { return const_cast<array *>(this)->at(i); }
	KUDZU_HD constexpr T &front() { return elements[0]; }
	KUDZU_HD constexpr const T &front() const { return elements[0]; }
	KUDZU_HD constexpr T &back() { return elements[n - 1]; }
	KUDZU_HD constexpr const T &back() const { return elements[n - 1]; }
	KUDZU_HD constexpr T *data() noexcept { return elements; }
	KUDZU_HD constexpr const T *data() const noexcept { return elements; }
	KUDZU_HD constexpr T *begin() noexcept { return elements; }
	KUDZU_HD constexpr const T *begin() const noexcept { return elements; }
	KUDZU_HD constexpr const T *cbegin() const noexcept { return elements; }
	KUDZU_HD constexpr T *end() noexcept { return elements + n; }
	KUDZU_HD constexpr const T *end() const noexcept { return elements + n; }
	KUDZU_HD constexpr const T *cend() const noexcept { return elements + n; }
	KUDZU_HD constexpr auto rbegin() noexcept { return reverse_iterator(end()); }
	KUDZU_HD constexpr auto rbegin() const noexcept { return const_reverse_iterator(end()); }
	KUDZU_HD constexpr auto rend() noexcept { return reverse_iterator(begin()); }
	KUDZU_HD constexpr auto rend() const noexcept { return const_reverse_iterator(begin()); }
	KUDZU_HD constexpr bool empty() const noexcept { return false; }
	KUDZU_HD constexpr size_t size() const noexcept { return n; }
	KUDZU_HD constexpr size_t max_size() const noexcept { return n; }
	KUDZU_HD constexpr void fill(const T &value)
	{
		for (size_t i = 0; i < n; i++) {
			elements[i] = value;
		}
	}
	KUDZU_HD constexpr void swap(array &other) { std::swap(elements, other.elements); }
};

template <class T> struct array<T, 0> {
	using value_type = T;
	using size_type = size_t;
	using iterator = T *;
	using const_iterator = const T *;
	KUDZU_HD constexpr T *data() noexcept { return nullptr; }
	KUDZU_HD constexpr const T *data() const noexcept { return nullptr; }
	KUDZU_HD constexpr T *begin() noexcept { return nullptr; }
	KUDZU_HD constexpr const T *begin() const noexcept { return nullptr; }
	KUDZU_HD constexpr T *end() noexcept { return nullptr; }
	KUDZU_HD constexpr const T *end() const noexcept { return nullptr; }
	KUDZU_HD constexpr bool empty() const noexcept { return true; }
	KUDZU_HD constexpr size_t size() const noexcept { return 0; }
	KUDZU_HD constexpr size_t max_size() const noexcept { return 0; }
	KUDZU_HD constexpr void fill(const T &) {}
	KUDZU_HD constexpr void swap(array &) {}
};
template <class T, class... R> array(T, R...) -> array<T, 1 + sizeof...(R)>;

template <class T, size_t n> struct tuple_size<array<T, n>> : integral_constant<size_t, n> {};
template <size_t i, class T, size_t n> struct tuple_element<i, array<T, n>> { using type = T; };
template <size_t i, class T, size_t n>
KUDZU_HD constexpr T &get(array<T, n> &a) noexcept { return a.elements[i]; }
template <size_t i, class T, size_t n>
KUDZU_HD constexpr const T &get(const array<T, n> &a) noexcept { return a.elements[i]; }
template <size_t i, class T, size_t n>
KUDZU_HD constexpr T &&get(array<T, n> &&a) noexcept { return static_cast<T &&>(a.elements[i]); }

template <class T, size_t n>
KUDZU_HD constexpr bool operator==(const array<T, n> &a, const array<T, n> &b)
{
	for (size_t i = 0; i < a.size(); i++) {
		if (!(a.data()[i] == b.data()[i])) {
			return false;
		}
	}
	return true;
}

template <class T, size_t n>
KUDZU_HD constexpr bool operator<(const array<T, n> &a, const array<T, n> &b)
{
	for (size_t i = 0; i < a.size(); i++) {
		if (a.data()[i] < b.data()[i] || b.data()[i] < a.data()[i]) {
			return a.data()[i] < b.data()[i];
		}
	}
	return false;
}

template <class T, size_t n>
KUDZU_HD constexpr bool operator!=(const array<T, n> &a, const array<T, n> &b) { return !(a == b); }
template <class T, size_t n>
KUDZU_HD constexpr bool operator>(const array<T, n> &a, const array<T, n> &b) { return b < a; }
template <class T, size_t n>
KUDZU_HD constexpr bool operator<=(const array<T, n> &a, const array<T, n> &b) { return !(b < a); }
template <class T, size_t n>
KUDZU_HD constexpr bool operator>=(const array<T, n> &a, const array<T, n> &b) { return !(a < b); }

/* --- <limits> --- */

enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };
enum float_round_style {
	round_indeterminate = -1, round_toward_zero = 0, round_to_nearest = 1,
	round_toward_infinity = 2, round_toward_neg_infinity = 3
};

template <class T> class numeric_limits {
public:
	static constexpr bool is_specialized = false;
};
template <class T> class numeric_limits<const T> : public numeric_limits<T> {};

template <class T> struct kudzu_limits {
	static constexpr bool is_specialized = true, is_bounded = true;
	static constexpr int radix = 2;
};

template <class T> struct kudzu_integer_limits : kudzu_limits<T> {
	static constexpr bool is_integer = true, is_exact = true, is_signed = T(-1) < T(0);
	static constexpr bool is_modulo = !is_signed, is_iec559 = false, traps = true;
	static constexpr bool has_infinity = false;
	static constexpr bool has_quiet_NaN = false, has_signaling_NaN = false;
	static constexpr bool has_denorm_loss = false, tinyness_before = false;
	static constexpr float_denorm_style has_denorm = denorm_absent;
	static constexpr float_round_style round_style = round_toward_zero;
	static constexpr int digits = is_same<T, bool>::value ? 1 : int(sizeof(T) * 8) - is_signed;
	static constexpr int digits10 = digits * 30103L / 100000, max_digits10 = 0;
	static constexpr int min_exponent = 0, min_exponent10 = 0;
	static constexpr int max_exponent = 0, max_exponent10 = 0;
	KUDZU_HD static constexpr T max() noexcept
	{
		return T(is_signed ? ~(~0ULL << (sizeof(T) * 8 - 1)) : ~0ULL);
	}
	KUDZU_HD static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
	KUDZU_HD static constexpr T lowest() noexcept { return min(); }
	KUDZU_HD static constexpr T epsilon() noexcept { return T(0); }
	KUDZU_HD static constexpr T round_error() noexcept { return T(0); }
	KUDZU_HD static constexpr T infinity() noexcept { return T(0); }
	KUDZU_HD static constexpr T quiet_NaN() noexcept { return T(0); }
	KUDZU_HD static constexpr T signaling_NaN() noexcept { return T(0); }
	KUDZU_HD static constexpr T denorm_min() noexcept { return T(0); }
};

template <class T> struct kudzu_float_limits : kudzu_limits<T> {
	static constexpr bool is_integer = false, is_exact = false, is_signed = true;
	static constexpr bool is_modulo = false, is_iec559 = true, traps = false;
	static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true;
	static constexpr bool has_denorm_loss = false, tinyness_before = false;
	static constexpr float_denorm_style has_denorm = denorm_present;
	static constexpr float_round_style round_style = round_to_nearest;
	KUDZU_HD static constexpr T round_error() noexcept { return T(0.5); }
};

#define KUDZU_LIMITS(T) template <> class numeric_limits<T> : public kudzu_integer_limits<T> {};
KUDZU_LIMITS(bool) KUDZU_LIMITS(char) KUDZU_LIMITS(signed char) KUDZU_LIMITS(unsigned char)
KUDZU_LIMITS(wchar_t) KUDZU_LIMITS(char16_t) KUDZU_LIMITS(char32_t) KUDZU_LIMITS(short)
KUDZU_LIMITS(unsigned short) KUDZU_LIMITS(int) KUDZU_LIMITS(unsigned) KUDZU_LIMITS(long)
KUDZU_LIMITS(unsigned long) KUDZU_LIMITS(long long) KUDZU_LIMITS(unsigned long long)
#undef KUDZU_LIMITS

#define KUDZU_BITS(T, name, bits) \
	KUDZU_HD static constexpr T name() noexcept { return __builtin_bit_cast(T, bits); }

template <> class numeric_limits<float> : public kudzu_float_limits<float> {
public:
	static constexpr int digits = 24, digits10 = 6, max_digits10 = 9;
	static constexpr int min_exponent = -125, min_exponent10 = -37;
	static constexpr int max_exponent = 128, max_exponent10 = 38;
	KUDZU_HD static constexpr float min() noexcept { return 1.17549435e-38F; }
	KUDZU_HD static constexpr float max() noexcept { return 3.40282347e+38F; }
	KUDZU_HD static constexpr float lowest() noexcept { return -3.40282347e+38F; }
	KUDZU_HD static constexpr float epsilon() noexcept { return 1.19209290e-7F; }
	KUDZU_HD static constexpr float denorm_min() noexcept { return 1.40129846e-45F; }
	KUDZU_BITS(float, infinity, 0x7f800000)
	KUDZU_BITS(float, quiet_NaN, 0x7fc00000)
	KUDZU_BITS(float, signaling_NaN, 0x7fa00000)
};

template <> class numeric_limits<double> : public kudzu_float_limits<double> {
public:
	static constexpr int digits = 53, digits10 = 15, max_digits10 = 17;
	static constexpr int min_exponent = -1021, min_exponent10 = -307;
	static constexpr int max_exponent = 1024, max_exponent10 = 308;
	KUDZU_HD static constexpr double min() noexcept { return 2.2250738585072014e-308; }
	KUDZU_HD static constexpr double max() noexcept { return 1.7976931348623157e+308; }
	KUDZU_HD static constexpr double lowest() noexcept { return -1.7976931348623157e+308; }
	KUDZU_HD static constexpr double epsilon() noexcept { return 2.2204460492503131e-16; }
	KUDZU_HD static constexpr double denorm_min() noexcept { return 4.9406564584124654e-324; }
	KUDZU_BITS(double, infinity, 0x7ff0000000000000)
	KUDZU_BITS(double, quiet_NaN, 0x7ff8000000000000)
	KUDZU_BITS(double, signaling_NaN, 0x7ff4000000000000)
};
#undef KUDZU_BITS

}

#undef KUDZU_HD
#endif
