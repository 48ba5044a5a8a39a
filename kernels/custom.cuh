/* SPDX-License-Identifier: MIT */
/*
 * Arrays of users' kernels that are not plain pointers: operator [] takes the row-major index of an
 * element.  A cursor knows where the elements of the present index are; it goes on by one in a few
 * additions, and elsewhere by a division for each axis.
 */
template <int arrays, int dims> struct kz_layout {
	long long extents[dims];
	long long strides[arrays][dims]; /* in bytes */
};
template <int arrays, int dims> struct kz_cursor {
	const kz_layout<arrays, dims> &layout;
	long long index;
	long long left; /* elements of the row, this one among them */
	long long offsets[arrays];
	__device__ kz_cursor(const kz_layout<arrays, dims> &l) : layout(l), index(-1) {}
	__device__ void seek(long long to)
	{
		unsigned long long rest = (unsigned long long)to;
		index = to;
		#pragma unroll
		for (int k = 0; k < arrays; k++) {
			offsets[k] = 0;
		}
		#pragma unroll
		for (int d = dims - 1; d >= 0; d--) {
			const unsigned long long extent = (unsigned long long)layout.extents[d];
			const long long at = (long long)(d ? rest % extent : rest);
			rest /= extent;
			if (d == dims - 1) {
				left = layout.extents[d] - at;
			}
			#pragma unroll
			for (int k = 0; k < arrays; k++) {
				offsets[k] += at * layout.strides[k][d];
			}
		}
	}
	__device__ void next()
	{
		if (--left <= 0) {
			seek(index + 1);
			return;
		}
		index++;
		#pragma unroll
		for (int k = 0; k < arrays; k++) {
			offsets[k] += layout.strides[k][dims - 1];
		}
	}
};
template <int which, class T, int arrays, int dims> struct kz_strided {
	T *base;
	const kz_cursor<arrays, dims> &cursor;
	__device__ kz_strided(T *b, const kz_cursor<arrays, dims> &c) : base(b), cursor(c) {}
	__device__ long long offset(long long index) const
	{
		unsigned long long rest = (unsigned long long)index;
		long long sum = 0;
		#pragma unroll
		for (int d = dims - 1; d >= 0; d--) {
			const kz_layout<arrays, dims> &layout = cursor.layout;
			const unsigned long long extent = (unsigned long long)layout.extents[d];
			sum += (long long)(d ? rest % extent : rest) * layout.strides[which][d];
			rest /= extent;
		}
		return sum;
	}
	__device__ T &operator[](long long index) const
	{
		return *(T *)((char *)base
			+ (index == cursor.index ? cursor.offsets[which] : offset(index)));
	}
	__device__ T &operator*() const { return (*this)[0]; }
};
template <int which, class T, int arrays, int dims>
__device__ kz_strided<which, T, arrays, dims> kz_at(T *base, const kz_cursor<arrays, dims> &cursor)
{
	return kz_strided<which, T, arrays, dims>(base, cursor);
}
/* CuPy's _ind: the index of an element along each axis. */
template <int dims> struct kz_index {
	static const int ndim = dims;
	const long long *extents;
	long long count;
	long long at[dims];
	__device__ kz_index(const long long *e, long long n, long long i) : extents(e), count(n)
	{
		unsigned long long rest = (unsigned long long)i;
		#pragma unroll
		for (int d = dims - 1; d >= 0; d--) {
			const unsigned long long extent = (unsigned long long)extents[d];
			at[d] = (long long)(d ? rest % extent : rest);
			rest /= extent;
		}
	}
	__device__ long long size() const { return count; }
	__device__ const long long *shape() const { return extents; }
	__device__ const long long *get() const { return at; }
};
