// SPDX-License-Identifier: MIT
// The source of the fat binaries here, as nvcc 13.0 made them; options:
//   zstd.fatbin     -gencode arch=compute_75,code=compute_75 -gencode arch=compute_89,code=compute_89
//                   -gencode arch=compute_100,code=compute_100
//   lz4.fatbin      -gencode arch=compute_75,code=compute_75 --compress-mode=speed
//   plain.fatbin    -gencode arch=compute_120,code=compute_120 --compress-mode=none
//   cubin.fatbin    -gencode arch=compute_89,code=sm_89 --compress-mode=size
//   rdc.fatbin      -rdc=true -gencode arch=compute_89,code=[sm_89,compute_89] --compress-mode=size
extern "C" __global__ void twice(int *a)
{
	a[threadIdx.x] *= 2;
}
