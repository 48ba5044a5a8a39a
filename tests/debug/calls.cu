// --grid 1 --block 2 'f32[2]' 4
__device__ __noinline__ float power(float base, int n)
{
	float result = 1;
	for (int i = 0; i < n; i++) {
		result *= base; // times
	}
	return result;
}

template <typename T> __device__ T twice(T x)
{
	T sum = x + x;
	return sum; // twice
}

__device__ __forceinline__ float middle(float x)
{
	float cube = power(x, 3); // cube
	return cube + twice(x); // middle
}

__device__ int depth(int n)
{
	if (n == 0) {
		return 0; // bottom
	}
	return 1 + depth(n - 1);
}

extern "C" __global__ void calls(float *out, int n)
{
	int t = threadIdx.x;
	float a = middle(2.0f + t); // first
	float b = twice(n); // second
	out[t] = a + b + depth(n); // last
}
