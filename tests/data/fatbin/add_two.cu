// SPDX-License-Identifier: MIT
// The source of add_two.obj, as nvcc 13.0 made it: nvcc -dc -gencode
// arch=compute_75,code=compute_75 -gencode arch=compute_80,code=sm_80; then, without the code for
// the host: objcopy --only-section=__nv_relfatbin.  add_two.exe is this file and an empty main,
// linked by nvcc -rdc=true with the same architectures, then objcopy --strip-all -j .nv_fatbin -j
// __nv_relfatbin.
__device__ int base_value = 40;
__device__ int add_two(int x) { return x + 2; }
