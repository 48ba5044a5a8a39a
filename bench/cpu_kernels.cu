/* SPDX-License-Identifier: MIT */
/*
 * What bench_cpu runs: kernels as one writes them for a GPU.  cpu_kernels.cl has the same ones in
 * OpenCL, cpu_loops.c the same work as plain C.
 */
#define TILE 16
#define SIZE 256 /* threads, where a kernel needs to know */

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		c[i] = a[i] + b[i];
	}
}

extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		y[i] = a * x[i] + y[i];
	}
}

extern "C" __global__ void saxpy_stride(float a, const float *__restrict__ x, float *__restrict__ y,
	int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		y[i] = a * x[i] + y[i];
	}
}

extern "C" __global__ void matmul_plain(const float *A, const float *B, float *C, int n)
{
	int column = blockIdx.x * blockDim.x + threadIdx.x;
	int row = blockIdx.y * blockDim.y + threadIdx.y;
	float sum = 0;
	if (row < n && column < n) {
		for (int k = 0; k < n; k++) {
			sum += A[row * n + k] * B[k * n + column];
		}
		C[row * n + column] = sum;
	}
}

extern "C" __global__ void matmul(const float *A, const float *B, float *C, int n)
{
	__shared__ float a[TILE][TILE], b[TILE][TILE];
	int tx = threadIdx.x, ty = threadIdx.y;
	int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
	float sum = 0;
	for (int t = 0; t < n / TILE; t++) {
		a[ty][tx] = A[row * n + t * TILE + tx];
		b[ty][tx] = B[(t * TILE + ty) * n + column];
		__syncthreads();
#pragma unroll
		for (int k = 0; k < TILE; k++) {
			sum += a[ty][k] * b[k][tx];
		}
		__syncthreads();
	}
	C[row * n + column] = sum;
}

extern "C" __global__ void reduce(const float *x, float *out, int n)
{
	__shared__ float warps[32];
	int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
	float sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		sum += x[i];
	}
	for (int d = 16; d; d >>= 1) {
		sum += __shfl_down_sync(~0u, sum, d);
	}
	if (!lane) {
		warps[warp] = sum;
	}
	__syncthreads();
	if (!warp) {
		sum = lane < blockDim.x / 32 ? warps[lane] : 0;
		for (int d = 16; d; d >>= 1) {
			sum += __shfl_down_sync(~0u, sum, d);
		}
		if (!lane) {
			out[blockIdx.x] = sum;
		}
	}
}

extern "C" __global__ void mandelbrot(int *out, int width, int height, int limit)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height) {
		return;
	}
	float cx = -2 + 3.f * x / width, cy = -1 + 2.f * y / height, a = 0, b = 0;
	int i = 0;
	while (a * a + b * b < 4 && i < limit) {
		float t = a * a - b * b + cx;
		b = 2 * a * b + cy;
		a = t;
		i++;
	}
	out[y * width + x] = i;
}

extern "C" __global__ void nbody(const float4 *p, float3 *out, int n)
{
	extern __shared__ float4 tile[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 own = p[i];
	float3 a = {0, 0, 0};
	for (int t = 0; t < n; t += blockDim.x) {
		tile[threadIdx.x] = p[t + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < blockDim.x; j++) {
			float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
			float r = rsqrtf(x * x + y * y + z * z + 1e-9f);
			float k = tile[j].w * r * r * r;
			a.x += x * k;
			a.y += y * k;
			a.z += z * k;
		}
		__syncthreads();
	}
	out[i] = a;
}

extern "C" __global__ void transpose(const float *in, float *out, int width, int height)
{
	__shared__ float tile[32][33];
	int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8) {
		if (x < width && y + j < height) {
			tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
		}
	}
	__syncthreads();
	x = blockIdx.y * 32 + threadIdx.x;
	y = blockIdx.x * 32 + threadIdx.y;
	for (int j = 0; j < 32; j += 8) {
		if (x < height && y + j < width) {
			out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
		}
	}
}

extern "C" __global__ void stencil(const double *__restrict__ a, double *__restrict__ b, int nx,
	int ny, int nz, double c)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
	if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) {
		return;
	}
	for (int k = 1; k < nz - 1; k++) {
		long long p = ((long long)k * ny + j) * nx + i, plane = (long long)nx * ny;
		b[p] = a[p] + c * (a[p - 1] + a[p + 1] + a[p - nx] + a[p + nx] + a[p - plane]
			+ a[p + plane] - 6 * a[p]);
	}
}

/* Each block by itself; its sum goes to `sums`, unless that is null. */
extern "C" __global__ void scan_blocks(const int *in, int *out, int *sums)
{
	extern __shared__ int t[];
	int k = threadIdx.x, i = blockIdx.x * blockDim.x + k;
	t[k] = in[i];
	__syncthreads();
	for (int d = 1; d < blockDim.x; d *= 2) {
		int v = k >= d ? t[k - d] : 0;
		__syncthreads();
		t[k] += v;
		__syncthreads();
	}
	out[i] = t[k];
	if (sums && k == blockDim.x - 1) {
		sums[blockIdx.x] = t[k];
	}
}

extern "C" __global__ void scan_add(int *out, const int *sums)
{
	if (blockIdx.x > 0) {
		out[blockIdx.x * blockDim.x + threadIdx.x] += sums[blockIdx.x - 1];
	}
}

extern "C" __global__ void bfs_start(int *level, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v < n) {
		level[v] = v == 0 ? 0 : -1;
	}
}

extern "C" __global__ void bfs(const int *row, const int *column, int *level, int depth, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n || level[v] != depth) {
		return;
	}
	for (int e = row[v]; e < row[v + 1]; e++) {
		int u = column[e];
		if (level[u] < 0) {
			level[u] = depth + 1;
		}
	}
}

extern "C" __global__ void bitonic(const unsigned *in, unsigned *out)
{
	__shared__ unsigned s[512];
	int t = threadIdx.x;
	s[t] = in[blockIdx.x * 512 + t];
	__syncthreads();
	for (int k = 2; k <= 512; k <<= 1) {
		for (int j = k >> 1; j > 0; j >>= 1) {
			int other = t ^ j;
			if (other > t) {
				bool up = (t & k) == 0;
				if ((s[t] > s[other]) == up) {
					unsigned swapped = s[t];
					s[t] = s[other];
					s[other] = swapped;
				}
			}
			__syncthreads();
		}
	}
	out[blockIdx.x * 512 + t] = s[t];
}

/* sha_k: SHA-256's constants; bench_cpu puts them before this text. */
__device__ static void sha_block(unsigned state[8], unsigned w[16])
{
	unsigned v[8];
	for (int i = 0; i < 8; i++) {
		v[i] = state[i];
	}
#pragma unroll
	for (int i = 0; i < 64; i++) {
		if (i >= 16) {
			unsigned x = w[(i + 1) & 15], y = w[(i + 14) & 15];
			w[i & 15] += w[(i + 9) & 15]
				+ (__funnelshift_r(x, x, 7) ^ __funnelshift_r(x, x, 18) ^ x >> 3)
				+ (__funnelshift_r(y, y, 17) ^ __funnelshift_r(y, y, 19) ^ y >> 10);
		}
		unsigned e = v[4], a = v[0];
		unsigned one = v[7] + sha_k[i] + w[i & 15] + ((e & v[5]) ^ (~e & v[6]))
			+ (__funnelshift_r(e, e, 6) ^ __funnelshift_r(e, e, 11)
				^ __funnelshift_r(e, e, 25));
		unsigned two = ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]))
			+ (__funnelshift_r(a, a, 2) ^ __funnelshift_r(a, a, 13)
				^ __funnelshift_r(a, a, 22));
#pragma unroll
		for (int j = 7; j > 0; j--) {
			v[j] = v[j - 1];
		}
		v[4] += one;
		v[0] = one + two;
	}
	for (int i = 0; i < 8; i++) {
		state[i] += v[i];
	}
}

/* A message of 64 bytes for each thread, as 16 words. */
extern "C" __global__ void sha256(const unsigned *messages, unsigned *digests, int n)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x;
	if (t >= n) {
		return;
	}
	unsigned state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
		0x1f83d9ab, 0x5be0cd19};
	unsigned w[16], padding[16] = {0x80000000};
	for (int i = 0; i < 16; i++) {
		w[i] = messages[t * 16 + i];
	}
	sha_block(state, w);
	padding[15] = 512;
	sha_block(state, padding);
	for (int i = 0; i < 8; i++) {
		digests[t * 8 + i] = state[i];
	}
}

extern "C" __global__ void histogram(const unsigned char *in, unsigned *out, int n)
{
	__shared__ unsigned counts[SIZE];
	counts[threadIdx.x] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		atomicAdd(&counts[in[i]], 1);
	}
	__syncthreads();
	atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}

/* A warp for each row. */
extern "C" __global__ void spmv(const int *row, const int *column, const double *value,
	const double *x, double *y, int n)
{
	int r = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
	if (r >= n) {
		return;
	}
	double sum = 0;
	for (int e = row[r] + lane; e < row[r + 1]; e += 32) {
		sum += value[e] * x[column[e]];
	}
	for (int d = 16; d; d >>= 1) {
		sum += __shfl_xor_sync(~0u, sum, d);
	}
	if (!lane) {
		y[r] = sum;
	}
}
