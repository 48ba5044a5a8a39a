/* SPDX-License-Identifier: MIT */
#ifndef KUDZU_KUDZU_HPP
#define KUDZU_KUDZU_HPP

/*
 * Kudzu from C++17: handles that release themselves, and failures that are exceptions.
 *
 *	auto dev = kz::make(kz_device_open, nullptr);
 *	auto mod = kz::make(kz_module_compile, dev, source, nullptr);
 *	kz_kernel *saxpy = kz::make(kz_module_kernel, mod, "saxpy");
 *	auto x = kz::from(dev, std::vector<float>(1000, 1.0f));
 *	auto y = kz::make(kz_array_zeros, dev, KZ_F32, KZ_SHAPE(1000));
 *	kz::launch_1d(saxpy, 1000, nullptr, 2.0f, x, y, 1000);
 *	kz::call(kz_array_print, y, stdout);
 *
 * The rest is the C API.  kz::call takes a function of it and that function's arguments in their
 * order, without the kz_error; kz::make also without the first one, which is the result.  A handle
 * stands where C expects the pointer, and a struct of options where C expects its address.
 *
 * Destructors do not throw.  Without memory for an exception, std::bad_alloc is thrown instead.
 */
#if __cplusplus < 201703L
#error "kudzu.hpp needs C++17 (-std=c++17); before that include <kudzu/kudzu.h>"
#elif !defined(__cpp_exceptions)
#error "kudzu.hpp throws exceptions; with -fno-exceptions include <kudzu/kudzu.h>"
#endif

#include <kudzu/kudzu.h>

#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

/** Handles, exceptions, and calls of the C API that use both. */
namespace kz {

template <class T> class handle;
/* In the program's function, so that leak reports and errors name the program's line (leaks.h). */
#define KZ_PP_HERE inline __attribute__((__always_inline__))

namespace detail {

/* How a handle is released, and which objects C counts for the program. */
template <class T> struct owner : std::false_type {};
#define KZ_PP_OWNER(type, free) template <> struct owner<type> : std::true_type { \
	static void release(type *pointer) noexcept { free(pointer); } };
KZ_PP_OWNER(kz_array, kz_array_release)
KZ_PP_HANDLES(KZ_PP_OWNER)
#undef KZ_PP_OWNER
inline kz_array *retain(kz_array *pointer) noexcept { return kz_array_retain(pointer); }
inline kz_image *retain(kz_image *pointer) noexcept { return kz_image_retain(pointer); }
inline kz_module *retain(kz_module *pointer) noexcept { return kz_module_retain(pointer); }
inline kz_sparse *retain(kz_sparse *pointer) noexcept { return kz_sparse_retain(pointer); }

/* What make() returns; and functions that fill a list instead. */
template <class T> using made = std::conditional_t<owner<T>::value, handle<T>, T *>;
template <class... P> struct fills_list : std::false_type {};
template <class... P> struct fills_list<kz_array **, int64_t, P...> : std::true_type {};
template <class... P> struct fills_list<kz_device **, int, int *, P...> : std::true_type {};

/* An error value that frees what it holds. */
struct error_value : kz_error {
	error_value() : kz_error(KZ_ERROR_INIT) {}
	error_value(error_value &&) = delete;
	~error_value() { kz_error_clear(this); }
};

inline std::string text_of(const kz_error &err)
{
	std::string text(kz_error_format(&err, nullptr, 0), '\0');
	kz_error_format(&err, text.data(), text.size() + 1);
	text.erase(text.find_last_not_of('\n') + 1);
	return text;
}

/* Argument I of the list as a parameter of type P: of a struct its address, if C expects that. */
template <class P, size_t I, class List> KZ_PP_HERE
P pick(List &list, kz_error *err)
{
	if constexpr (std::is_same_v<P, kz_error *>) {
		return err;
	} else {
		auto &argument = std::get<I>(list);
		using A = std::remove_reference_t<decltype(argument)>;
		if constexpr (std::is_class_v<A> && std::is_same_v<P, std::add_const_t<A> *>) {
			return &argument;
		} else {
			return argument;
		}
	}
}

/* The kz_error stands last, or before the arguments of a kernel. */
template <class... P, class List, size_t... I> KZ_PP_HERE
kz_status invoke(kz_status (*function)(P...), List &&list, kz_error *err, std::index_sequence<I...>)
{
	constexpr size_t at = ((std::is_same_v<P, kz_error *> ? I : 0) + ...);
	return function(pick<P, I - (I > at)>(list, err)...);
}

} // namespace detail

/** A failure; what() is all that kz_error_print prints.  Copies share the error value. */
class KZ_API error : public std::runtime_error {
public:
	/** Take what an error value holds, which is KZ_ERROR_INIT afterwards. */
	explicit error(kz_error &taken)
		: std::runtime_error(detail::text_of(taken)),
		  held(std::make_shared<detail::error_value>())
	{
		std::swap(static_cast<kz_error &>(*held), taken);
	}
	/** Return the class of the failure. */
	kz_status status() const noexcept { return held->status; }
	/** Return the message, the place, the native code, the hint.  Borrowed. */
	const kz_error &value() const noexcept { return *held; }
private:
	std::shared_ptr<detail::error_value> held;
};

/** Throw kz::error if a status is not KZ_OK, with what its call left in `err`. */
inline void check(kz_status status, kz_error &err)
{
	if (status != KZ_OK) {
		if (err.status == KZ_OK) {
			err.status = status;
			snprintf(err.message, sizeof(err.message), "%s", kz_status_string(status));
		}
		throw error(err);
	}
}

/**
 * The owner of an object of the C API, which is released by the function of its type.  It moves and
 * does not copy.  It converts to the pointer, unless it is about to be destroyed.
 */
template <class T>
class handle {
	static_assert(detail::owner<T>::value, "C lends this type: use the pointer");
public:
	/** Own nothing. */
	handle() noexcept = default;
	/** Own what a function of C returned. */
	explicit handle(T *taken) noexcept : pointer(taken) {}
	handle(handle &&other) noexcept : pointer(other.detach()) {} /**< Own what the other did. */
	/** Release what it owns, and own what the other handle does. */
	handle &operator=(handle &&other) noexcept { reset(other.detach()); return *this; }
	~handle() { detail::owner<T>::release(pointer); }

	/** Return the pointer, borrowed; NULL if it owns nothing. */
	T *get() const noexcept { return pointer; }
	operator T *() const & noexcept { return pointer; } /**< For calls of C. */
	operator T *() const && = delete;
	/** Return whether it owns something. */
	explicit operator bool() const noexcept { return pointer != nullptr; }
	/** Return the pointer, which the caller releases from now on. */
	T *detach() noexcept { return std::exchange(pointer, nullptr); }
	/** Release what it owns, and own another object, or nothing. */
	void reset(T *taken = nullptr) noexcept
	{
		detail::owner<T>::release(std::exchange(pointer, taken));
	}
	/** Release what it owns, and return where a function of C puts its result. */
	T **out() noexcept { reset(); return &pointer; }
	/** Return a second owner of the same array, image, module or sparse matrix. */
	handle share() const noexcept { return handle(detail::retain(pointer)); }
private:
	T *pointer = nullptr;
};

/** Call a function of the C API with its arguments but the kz_error; throw what it reports. */
template <class... P, class... A> KZ_PP_HERE
void call(kz_status (*function)(P...), A &&...arguments)
{
	constexpr bool fits = sizeof...(P) == sizeof...(A) + 1;
	static_assert(fits, "pass the arguments of the C function without the kz_error");
	if constexpr (fits) {
		detail::error_value err;
		check(detail::invoke(function, std::forward_as_tuple(std::forward<A>(arguments)...),
			&err, std::index_sequence_for<P...>()), err);
	}
}

/** Call a lambda that takes a kz_error *, for macros such as kz_add(c.out(), a, 2, err). */
template <class F, std::enable_if_t<std::is_class_v<std::remove_reference_t<F>>, int> = 0>
KZ_PP_HERE void call(F &&function)
{
	detail::error_value err;
	check(function(static_cast<kz_error *>(&err)), err);
}

/**
 * Call a function of the C API with its arguments but the first one and the kz_error, and return
 * what it made: a handle; the pointer of what C lends, as a kz_kernel.
 */
template <class T, class... P, class... A> KZ_PP_HERE
detail::made<T> make(kz_status (*function)(T **, P...), A &&...arguments)
{
	static_assert(!detail::fills_list<T **, P...>::value, "this fills a list: use kz::call");
	T *result = nullptr;
	call(function, &result, std::forward<A>(arguments)...);
	return detail::made<T>(result);
}

/** Set members of options: with(KZ_SCAN_OPTIONS_INIT, &kz_scan_options::axis, 0). */
template <class T, class M, class V, class... Rest>
T with(T options, M T::*member, V &&value, Rest &&...rest)
{
	options.*member = std::forward<V>(value); // a handle that is about to end does not convert
	if constexpr (sizeof...(rest) > 0) {
		return with(options, std::forward<Rest>(rest)...);
	} else {
		return options;
	}
}

/** Return the dtype of a type of numbers, as KZ_FROM of C knows it. */
template <class T>
constexpr kz_dtype dtype()
{
	static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, char> && sizeof(T) <= 8,
		"no dtype has numbers of this type");
	constexpr kz_dtype log2 = sizeof(T) == 8 ? 3 : sizeof(T) == 4 ? 2 : sizeof(T) == 2;
	return std::is_same_v<T, bool> ? KZ_BOOL : std::is_floating_point_v<T> ? KZ_F32 + log2 - 2
		: (std::is_signed_v<T> ? KZ_I8 : KZ_U8) + log2;
}

/** Make an array from a std::vector, a std::array, or an array of C with one or two extents. */
template <class C> KZ_PP_HERE
handle<kz_array> from(kz_device *dev, const C &host)
{
	using E = std::remove_cv_t<std::remove_reference_t<decltype(*std::data(host))>>;
	const auto rows = static_cast<int64_t>(std::size(host));
	return make(kz_array_from, dev, dtype<std::remove_extent_t<E>>(),
		std::is_array_v<E> ? KZ_SHAPE(rows, std::extent_v<E>) : KZ_SHAPE(rows),
		std::data(host), rows * static_cast<int64_t>(sizeof(E)));
}

/**
 * Return a number, as kz_array_item and kz_sum_get of C: get<float>(kz_array_item_as, a, KZ_AT(3))
 * and get<double>(kz_reduce_get_as, KZ_REDUCE_SUM, a, nullptr).
 */
template <class T, class... P, class... A> KZ_PP_HERE
T get(kz_status (*function)(void *, kz_dtype, P...), A &&...arguments)
{
	T value;
	call(function, &value, dtype<T>(), std::forward<A>(arguments)...);
	return value;
}

/** Make an argument of a kernel, as KZ_ARG does, or of a struct, borrowed for the statement. */
template <class T>
kz_arg arg(const T &value)
{
	using O = std::remove_cv_t<std::remove_pointer_t<std::decay_t<T>>>;
	if constexpr ((std::is_class_v<T> || std::is_union_v<T>) && !std::is_same_v<T, kz_arg>) {
		static_assert(std::is_trivially_copyable_v<T>, "a kernel takes a struct by its "
			"bytes, so the type must be trivially copyable");
		return KZ_VALUE(value);
	} else {
		static_assert(std::is_same_v<O, std::decay_t<T>> || std::is_same_v<O, kz_array>
			|| std::is_same_v<O, kz_buffer> || std::is_same_v<O, kz_texture>
			|| std::is_same_v<O, kz_surface>, "no kernel takes this pointer or "
			"handle; host memory goes by KZ_IN, KZ_OUT or KZ_INOUT");
		return kz_arg_of(value);
	}
}

/** Make an argument of a handle. */
template <class T> kz_arg arg(const handle<T> &value) { return arg(value.get()); }

/** List up to 64 arguments of a kernel, where C has KZ_ARGS; see arg(). */
template <class... T>
kz_arg_list<sizeof...(T)> args(const T &...values)
{
	return kz_args_capture(arg(values)...);
}

/** Launch a kernel: kz_launch with the arguments after the options. */
template <class O, class... T> KZ_PP_HERE
void launch(kz_kernel *kernel, kz_dim3 grid, kz_dim3 block, const O &options, const T &...values)
{
	call(kz_launch, kernel, grid, block, options, args(values...));
}

/** Launch a kernel over elements: kz_launch_1d with the arguments after the options. */
template <class O, class... T> KZ_PP_HERE
void launch_1d(kz_kernel *kernel, int64_t count, const O &options, const T &...values)
{
	call(kz_launch_1d, kernel, count, options, args(values...));
}

} // namespace kz

#endif
