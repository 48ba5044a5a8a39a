/* SPDX-License-Identifier: MIT */
/*
 * Complex numbers of users' kernels: the class, with what one expects of a class, for the functions
 * of complex.cuh, which follows; these by their usual names; and PyCUDA's name of the class.
 */
#define KZ_COMPLEX_GIVEN
template <class T> struct __align__(2 * sizeof(T)) kz_complex {
	typedef T part;
	T re, im;
	kz_complex() = default;
	__device__ kz_complex(T real, T imag = 0) : re(real), im(imag) {}
	template <class U>
	__device__ kz_complex(const kz_complex<U> &a) : re((T)a.re), im((T)a.im) {}
	__device__ T real() const { return re; }
	__device__ T imag() const { return im; }
	__device__ kz_complex &operator+=(kz_complex a) { return *this = *this + a; }
	__device__ kz_complex &operator-=(kz_complex a) { return *this = *this - a; }
	__device__ kz_complex &operator*=(kz_complex a) { return *this = *this * a; }
	__device__ kz_complex &operator/=(kz_complex a) { return *this = *this / a; }
};
/* With a real number, of any type, on either side. */
#define KZ_MIXED(op) \
	template <class T> __device__ kz_complex<T> operator op(kz_complex<T> a, \
		typename kz_complex<T>::part b) { return a op kz_complex<T>(b); } \
	template <class T> __device__ kz_complex<T> operator op(typename kz_complex<T>::part a, \
		kz_complex<T> b) { return kz_complex<T>(a) op b; }
KZ_MIXED(+)
KZ_MIXED(-)
KZ_MIXED(*)
KZ_MIXED(/)
#undef KZ_MIXED
template <class T> __device__ kz_complex<T> operator+(kz_complex<T> a) { return a; }
template <class T> __device__ bool operator!=(kz_complex<T> a, kz_complex<T> b)
{
	return !(a == b);
}
template <class T> __device__ T real(kz_complex<T> a) { return a.re; }
template <class T> __device__ T imag(kz_complex<T> a) { return a.im; }
template <class T> __device__ T norm(kz_complex<T> a) { return kz_norm(a); }
template <class T> __device__ T arg(kz_complex<T> a) { return kz_angle(a); }
template <class T> __device__ T abs(kz_complex<T> a) { return kz_absolute(a); }
template <class T> __device__ kz_complex<T> polar(T size, T angle) { return kz_polar(size, angle); }
#define KZ_NAME(name, other) \
	template <class T> __device__ kz_complex<T> name(kz_complex<T> a) { return other(a); }
KZ_NAME(conj, kz_conjugate)
KZ_NAME(proj, kz_project)
KZ_NAME(sqrt, kz_sqrt)
KZ_NAME(exp, kz_exp)
KZ_NAME(log, kz_log)
KZ_NAME(log10, kz_log10)
KZ_NAME(sin, kz_sin)
KZ_NAME(cos, kz_cos)
KZ_NAME(tan, kz_tan)
KZ_NAME(sinh, kz_sinh)
KZ_NAME(cosh, kz_cosh)
KZ_NAME(tanh, kz_tanh)
KZ_NAME(asin, kz_arcsin)
KZ_NAME(acos, kz_arccos)
KZ_NAME(atan, kz_arctan)
KZ_NAME(asinh, kz_arcsinh)
KZ_NAME(acosh, kz_arccosh)
KZ_NAME(atanh, kz_arctanh)
#undef KZ_NAME
template <class T> __device__ kz_complex<T> pow(kz_complex<T> a, kz_complex<T> b)
{
	return kz_power(a, b);
}
template <class T> __device__ kz_complex<T> pow(kz_complex<T> a, typename kz_complex<T>::part b)
{
	return kz_power(a, kz_complex<T>(b));
}
template <class T> __device__ kz_complex<T> pow(typename kz_complex<T>::part a, kz_complex<T> b)
{
	return kz_power(kz_complex<T>(a), b);
}
namespace pycuda {
template <class T> using complex = kz_complex<T>;
}
