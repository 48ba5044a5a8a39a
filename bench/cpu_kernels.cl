/* SPDX-License-Identifier: MIT */
/*
 * The kernels of cpu_kernels.cu in OpenCL C, line by line.  What OpenCL 1.2 has not, sums within a
 * warp, goes through local memory, as one writes it there.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define TILE 16
#define SIZE 256 /* threads, where a kernel needs to know */

__kernel void vecadd(__global const float *a, __global const float *b, __global float *c, int n)
{
	int i = get_global_id(0);
	if (i < n) {
		c[i] = a[i] + b[i];
	}
}

__kernel void saxpy(float a, __global const float *x, __global float *y, int n)
{
	int i = get_global_id(0);
	if (i < n) {
		y[i] = a * x[i] + y[i];
	}
}

__kernel void saxpy_stride(float a, __global const float *restrict x, __global float *restrict y,
	int n)
{
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
		y[i] = a * x[i] + y[i];
	}
}

__kernel void matmul_plain(__global const float *A, __global const float *B, __global float *C, int n)
{
	int column = get_global_id(0), row = get_global_id(1);
	float sum = 0;
	if (row < n && column < n) {
		for (int k = 0; k < n; k++) {
			sum += A[row * n + k] * B[k * n + column];
		}
		C[row * n + column] = sum;
	}
}

__kernel void matmul(__global const float *A, __global const float *B, __global float *C, int n)
{
	__local float a[TILE][TILE], b[TILE][TILE];
	int tx = get_local_id(0), ty = get_local_id(1);
	int row = get_group_id(1) * TILE + ty, column = get_group_id(0) * TILE + tx;
	float sum = 0;
	for (int t = 0; t < n / TILE; t++) {
		a[ty][tx] = A[row * n + t * TILE + tx];
		b[ty][tx] = B[(t * TILE + ty) * n + column];
		barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
		for (int k = 0; k < TILE; k++) {
			sum += a[ty][k] * b[k][tx];
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	C[row * n + column] = sum;
}

__kernel void reduce(__global const float *x, __global float *out, int n)
{
	__local float sums[SIZE];
	int t = get_local_id(0);
	float sum = 0;
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
		sum += x[i];
	}
	sums[t] = sum;
	for (int d = SIZE / 2; d; d >>= 1) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (t < d) {
			sums[t] += sums[t + d];
		}
	}
	if (!t) {
		out[get_group_id(0)] = sums[0];
	}
}

__kernel void mandelbrot(__global int *out, int width, int height, int limit)
{
	int x = get_global_id(0), y = get_global_id(1);
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

__kernel void nbody(__global const float4 *p, __global float *out, int n, __local float4 *tile)
{
	int i = get_global_id(0);
	float4 own = p[i];
	float3 a = (float3)(0, 0, 0);
	for (int t = 0; t < n; t += get_local_size(0)) {
		tile[get_local_id(0)] = p[t + get_local_id(0)];
		barrier(CLK_LOCAL_MEM_FENCE);
		for (int j = 0; j < get_local_size(0); j++) {
			float x = tile[j].x - own.x, y = tile[j].y - own.y, z = tile[j].z - own.z;
			float r = rsqrt(x * x + y * y + z * z + 1e-9f);
			float k = tile[j].w * r * r * r;
			a.x += x * k;
			a.y += y * k;
			a.z += z * k;
		}
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	vstore3(a, i, out);
}

__kernel void transpose(__global const float *in, __global float *out, int width, int height)
{
	__local float tile[32][33];
	int x = get_group_id(0) * 32 + get_local_id(0), y = get_group_id(1) * 32 + get_local_id(1);
	for (int j = 0; j < 32; j += 8) {
		if (x < width && y + j < height) {
			tile[get_local_id(1) + j][get_local_id(0)] = in[(y + j) * width + x];
		}
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	x = get_group_id(1) * 32 + get_local_id(0);
	y = get_group_id(0) * 32 + get_local_id(1);
	for (int j = 0; j < 32; j += 8) {
		if (x < height && y + j < width) {
			out[(y + j) * height + x] = tile[get_local_id(0)][get_local_id(1) + j];
		}
	}
}

__kernel void stencil(__global const double *restrict a, __global double *restrict b, int nx,
	int ny, int nz, double c)
{
	int i = get_global_id(0), j = get_global_id(1);
	if (i < 1 || j < 1 || i >= nx - 1 || j >= ny - 1) {
		return;
	}
	for (int k = 1; k < nz - 1; k++) {
		long p = ((long)k * ny + j) * nx + i, plane = (long)nx * ny;
		b[p] = a[p] + c * (a[p - 1] + a[p + 1] + a[p - nx] + a[p + nx] + a[p - plane]
			+ a[p + plane] - 6 * a[p]);
	}
}

/* Each block by itself; its sum goes to `sums`, unless that is null. */
__kernel void scan_blocks(__global const int *in, __global int *out, __global int *sums,
	__local int *t)
{
	int k = get_local_id(0), i = get_global_id(0);
	t[k] = in[i];
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int d = 1; d < get_local_size(0); d *= 2) {
		int v = k >= d ? t[k - d] : 0;
		barrier(CLK_LOCAL_MEM_FENCE);
		t[k] += v;
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	out[i] = t[k];
	if (sums && k == get_local_size(0) - 1) {
		sums[get_group_id(0)] = t[k];
	}
}

__kernel void scan_add(__global int *out, __global const int *sums)
{
	if (get_group_id(0) > 0) {
		out[get_global_id(0)] += sums[get_group_id(0) - 1];
	}
}

__kernel void bfs_start(__global int *level, int n)
{
	int v = get_global_id(0);
	if (v < n) {
		level[v] = v == 0 ? 0 : -1;
	}
}

__kernel void bfs(__global const int *row, __global const int *column, __global int *level,
	int depth, int n)
{
	int v = get_global_id(0);
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

__kernel void bitonic(__global const unsigned *in, __global unsigned *out)
{
	__local unsigned s[512];
	int t = get_local_id(0);
	s[t] = in[get_group_id(0) * 512 + t];
	barrier(CLK_LOCAL_MEM_FENCE);
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
			barrier(CLK_LOCAL_MEM_FENCE);
		}
	}
	out[get_group_id(0) * 512 + t] = s[t];
}

/* sha_k: SHA-256's constants; bench_cpu puts them before this text. */
static void sha_block(unsigned state[8], unsigned w[16])
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
				+ (rotate(x, 25u) ^ rotate(x, 14u) ^ x >> 3)
				+ (rotate(y, 15u) ^ rotate(y, 13u) ^ y >> 10);
		}
		unsigned e = v[4], a = v[0];
		unsigned one = v[7] + sha_k[i] + w[i & 15] + ((e & v[5]) ^ (~e & v[6]))
			+ (rotate(e, 26u) ^ rotate(e, 21u)
				^ rotate(e, 7u));
		unsigned two = ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]))
			+ (rotate(a, 30u) ^ rotate(a, 19u)
				^ rotate(a, 10u));
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
__kernel void sha256(__global const unsigned *messages, __global unsigned *digests, int n)
{
	int t = get_global_id(0);
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

__kernel void histogram(__global const uchar *in, __global unsigned *out, int n)
{
	__local unsigned counts[SIZE];
	counts[get_local_id(0)] = 0;
	barrier(CLK_LOCAL_MEM_FENCE);
	for (int i = get_global_id(0); i < n; i += get_global_size(0)) {
		atomic_add(&counts[in[i]], 1);
	}
	barrier(CLK_LOCAL_MEM_FENCE);
	atomic_add(&out[get_local_id(0)], counts[get_local_id(0)]);
}

/* 32 work-items for each row. */
__kernel void spmv(__global const int *row, __global const int *column,
	__global const double *value, __global const double *x, __global double *y, int n)
{
	__local double sums[SIZE];
	int t = get_local_id(0), r = get_global_id(0) >> 5, lane = t & 31;
	double sum = 0;
	if (r < n) {
		for (int e = row[r] + lane; e < row[r + 1]; e += 32) {
			sum += value[e] * x[column[e]];
		}
	}
	sums[t] = sum;
	for (int d = 16; d; d >>= 1) {
		barrier(CLK_LOCAL_MEM_FENCE);
		if (lane < d) {
			sums[t] += sums[t + d];
		}
	}
	if (!lane && r < n) {
		y[r] = sums[t];
	}
}
