# SPDX-License-Identifier: MIT
"""Writes a corpus of PTX modules that public GPU code makes, for bench_corpus.

    collect.py FOLDER

Each module is FOLDER/origin-name.ptx for sm_80.  The origins are CUB, cuRAND, cuFFTDx
(templates, compiled by NVRTC), Triton, numba-cuda and Warp.  No GPU is needed.  An origin
whose Python packages are missing is left out, with a line on stderr.  The packages:

    pip install numpy triton numba-cuda numba warp-lang nvidia-curand-cu12 nvidia-mathdx \\
        nvidia-cuda-nvrtc-cu12==12.9.* nvidia-cuda-runtime-cu12==12.9.* \\
        nvidia-cuda-cccl-cu12==12.9.* nvidia-cuda-nvcc-cu12==12.9.*
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

ARCH = 80
SITE = pathlib.Path(importlib.util.find_spec("numpy").origin).parents[1]
NVIDIA = SITE / "nvidia"


# --- Templates, through NVRTC -----------------------------------------------------------------

def nvrtc_compile(source, *options):
    """The PTX of a CUDA C++ source."""
    lib = ctypes.CDLL(str(next((NVIDIA / "cuda_nvrtc" / "lib").glob("libnvrtc.so.*"))))
    folders = [NVIDIA / name / "include"
               for name in ("cuda_cccl", "cuda_runtime", "curand", "mathdx")]
    folders.append(NVIDIA / "mathdx" / "external" / "cutlass" / "include")
    args = [f"--gpu-architecture=compute_{ARCH}", "-std=c++17", "-default-device", *options]
    args += [f"-I{folder}" for folder in folders if folder.is_dir()]
    program = ctypes.c_void_p()
    lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"corpus.cu", 0, None, None)
    argv = (ctypes.c_char_p * len(args))(*[arg.encode() for arg in args])
    failed = lib.nvrtcCompileProgram(program, len(args), argv)
    what = "nvrtcGetProgramLog" if failed else "nvrtcGetPTX"
    size = ctypes.c_size_t()
    getattr(lib, what + "Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(lib, what)(program, text)
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    if failed:
        raise RuntimeError(text.value.decode()[:400])
    return text.value.decode()


# Each block of threads loads ITEMS values of type T a thread, does this, and stores them.
CUB_BLOCK = r"""
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <cub/block/block_{header}.cuh>
typedef {type} T;
enum {{ THREADS = {threads}, ITEMS = {items} }};
extern "C" __global__ void __launch_bounds__(THREADS) k(const T *in, T *out, int count)
{{
	typedef cub::BlockLoad<T, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> load;
	typedef cub::BlockStore<T, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE> store;
	typedef {primitive} primitive;
	__shared__ union {{
		typename load::TempStorage load;
		typename store::TempStorage store;
		typename primitive::TempStorage primitive;
	}} memory;
	T item[ITEMS];
	const int first = blockIdx.x * THREADS * ITEMS;
	load(memory.load).Load(in + first, item, count - first, T());
	__syncthreads();
	{body}
	__syncthreads();
	store(memory.store).Store(out + first, item, count - first);
}}
"""
LESS = "[](const T &a, const T &b) { return a < b; }"
CUB_BLOCKS = [
    # name, header, type, threads, items, primitive, body
    ("radix-sort-u32", "radix_sort", "unsigned", 128, 8, "cub::BlockRadixSort<T, THREADS, ITEMS>",
     "primitive(memory.primitive).Sort(item);"),
    ("radix-sort-f64", "radix_sort", "double", 64, 4, "cub::BlockRadixSort<T, THREADS, ITEMS>",
     "primitive(memory.primitive).SortDescending(item);"),
    ("radix-sort-pairs", "radix_sort", "unsigned long long", 128, 4,
     "cub::BlockRadixSort<T, THREADS, ITEMS, int>",
     "int at[ITEMS]; for (int i = 0; i < ITEMS; i++) at[i] = threadIdx.x * ITEMS + i;"
     " primitive(memory.primitive).Sort(item, at);"
     " for (int i = 0; i < ITEMS; i++) item[i] += at[i];"),
    ("merge-sort-i32", "merge_sort", "int", 128, 7, "cub::BlockMergeSort<T, THREADS, ITEMS>",
     f"primitive(memory.primitive).Sort(item, {LESS});"),
    ("merge-sort-f32", "merge_sort", "float", 256, 4, "cub::BlockMergeSort<T, THREADS, ITEMS>",
     f"primitive(memory.primitive).StableSort(item, {LESS});"),
    ("scan-raking", "scan", "int", 128, 8, "cub::BlockScan<T, THREADS, cub::BLOCK_SCAN_RAKING>",
     "primitive(memory.primitive).InclusiveSum(item, item);"),
    ("scan-warps-f64", "scan", "double", 256, 5,
     "cub::BlockScan<T, THREADS, cub::BLOCK_SCAN_WARP_SCANS>",
     "primitive(memory.primitive).ExclusiveSum(item, item);"),
    ("reduce-f32", "reduce", "float", 256, 6, "cub::BlockReduce<T, THREADS>",
     "T sum = primitive(memory.primitive).Sum(item); if (threadIdx.x == 0) item[0] = sum;"),
    ("histogram", "histogram", "unsigned char", 128, 16,
     "cub::BlockHistogram<T, THREADS, ITEMS, 256, cub::BLOCK_HISTO_SORT>",
     "__shared__ unsigned bin[256]; primitive(memory.primitive).Histogram(item, bin);"
     " __syncthreads(); for (int i = 0; i < ITEMS; i++) item[i] = T(bin[item[i]]);"),
    ("adjacent-difference", "adjacent_difference", "int", 128, 6,
     "cub::BlockAdjacentDifference<T, THREADS>",
     "primitive(memory.primitive).SubtractLeft(item, item,"
     " [](const T &a, const T &b) { return a - b; });"),
    ("exchange", "exchange", "double2", 64, 8, "cub::BlockExchange<T, THREADS, ITEMS>",
     "primitive(memory.primitive).StripedToBlocked(item, item);"),
    ("discontinuity", "discontinuity", "short", 128, 8, "cub::BlockDiscontinuity<T, THREADS>",
     "int head[ITEMS]; primitive(memory.primitive).FlagHeads(head, item,"
     " [](const T &a, const T &b) { return a != b; });"
     " for (int i = 0; i < ITEMS; i++) item[i] = T(head[i]);"),
]


def write_cub():
    for name, header, dtype, threads, items, primitive, body in CUB_BLOCKS:
        source = CUB_BLOCK.format(header=header, type=dtype, threads=threads, items=items,
                                  primitive=primitive, body=body)
        yield "cub-" + name, nvrtc_compile(source)


CURAND = r"""
#define QUALIFIERS static __forceinline__ __device__
#include <curand_kernel.h>
extern "C" __global__ void start({state} *state, {seed} seed)
{{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	curand_init({init}, &state[i]);
}}
extern "C" __global__ void draw({state} *state, {type} *out, int count)
{{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	{state} mine = state[i];
	for (int at = i; at < count; at += gridDim.x * blockDim.x) {{
		out[at] = {draw};
	}}
	state[i] = mine;
}}
"""
COUNTED = ("unsigned long long", "seed, i, 0")
CURANDS = [
    ("xorwow-normal", "curandStateXORWOW_t", *COUNTED, "float", "curand_normal(&mine)"),
    ("mrg32k3a-uniform", "curandStateMRG32k3a_t", *COUNTED, "double",
     "curand_uniform_double(&mine)"),
    ("philox-poisson", "curandStatePhilox4_32_10_t", *COUNTED, "unsigned",
     "curand_poisson(&mine, 7.5)"),
    ("philox-normal4", "curandStatePhilox4_32_10_t", *COUNTED, "float4", "curand_normal4(&mine)"),
    ("sobol32-log-normal", "curandStateSobol32_t", "curandDirectionVectors32_t *",
     "seed[i & 7], i", "double", "curand_log_normal_double(&mine, 0.5, 2.0)"),
    ("sobol64-scrambled", "curandStateScrambledSobol64_t", "curandDirectionVectors64_t *",
     "seed[i & 7], i, i", "double", "curand_normal_double(&mine)"),
]


def write_curand():
    for name, state, seed, init, dtype, draw in CURANDS:
        source = CURAND.format(state=state, seed=seed, init=init, type=dtype, draw=draw)
        yield "curand-" + name, nvrtc_compile(source)


CUFFTDX = r"""
#include <cufftdx.hpp>
using namespace cufftdx;
typedef decltype(Block() + Size<{size}>() + Type<fft_type::c2c>() + Precision<{type}>()
	+ Direction<fft_direction::forward>() + ElementsPerThread<{elements}>() + FFTsPerBlock<1>()
	+ SM<{arch}>()) FFT;
extern "C" __global__ void __launch_bounds__(FFT::max_threads_per_block)
k(typename FFT::value_type *data)
{{
	typename FFT::value_type item[FFT::storage_size];
	extern __shared__ __align__(16) unsigned char memory[];
	const unsigned first = blockIdx.x * {size} + threadIdx.x;
	for (unsigned i = 0; i < FFT::elements_per_thread; i++) {{
		if (i * FFT::stride + threadIdx.x < {size}) {{
			item[i] = data[first + i * FFT::stride];
		}}
	}}
	FFT().execute(item, memory);
	for (unsigned i = 0; i < FFT::elements_per_thread; i++) {{
		if (i * FFT::stride + threadIdx.x < {size}) {{
			data[first + i * FFT::stride] = item[i];
		}}
	}}
}}
"""
CUFFTDXS = [("64", 64, "float", 8), ("125", 125, "float", 5), ("512-f64", 512, "double", 8),
            ("1024", 1024, "float", 16), ("4096", 4096, "float", 16),
            ("2187-f64", 2187, "double", 9)]


def write_cufftdx():
    for name, size, dtype, elements in CUFFTDXS:
        yield "cufftdx-" + name, nvrtc_compile(CUFFTDX.format(
            size=size, type=dtype, elements=elements, arch=ARCH * 10))


# --- Triton --------------------------------------------------------------------------------------

def write_triton():
    import triton
    import triton_kernels
    from triton.backends.compiler import GPUTarget
    for name, kernel, signature, constants in triton_kernels.KERNELS:
        types = dict(zip(kernel.arg_names, signature.split()))
        types.update((key, "constexpr") for key in constants)
        source = triton.compiler.ASTSource(
            fn=kernel, signature={key: types[key] for key in kernel.arg_names},
            constexprs=constants)
        made = triton.compile(source, target=GPUTarget("cuda", ARCH, 32),
                              options={"ptx_version": 88})
        yield "triton-" + name, made.asm["ptx"]


# --- numba-cuda ----------------------------------------------------------------------------------

def write_numba():
    os.environ.setdefault("CUDA_HOME", str(NVIDIA / "cuda_nvcc"))
    from numba import cuda
    import numba_kernels
    for name, function, types in numba_kernels.KERNELS:
        ptx, _ = cuda.compile(function, types, device=False, abi="numba", output="ptx",
                              cc=(ARCH // 10, ARCH % 10))
        yield "numba-" + name, ptx if isinstance(ptx, str) else ptx.decode()


# --- Warp ----------------------------------------------------------------------------------------

def write_warp():
    import warp
    import warp_kernels
    warp.config.quiet = True
    warp.init()
    for name, module in warp_kernels.modules():
        with tempfile.TemporaryDirectory() as folder:
            warp.compile_aot_module(module, arch=ARCH, module_dir=folder, use_ptx=True)
            for path in pathlib.Path(folder).glob("*.ptx"):
                yield "warp-" + name, path.read_text().rstrip("\0")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for origin in (write_cub, write_curand, write_cufftdx, write_triton, write_numba, write_warp):
        try:
            for name, ptx in origin():
                # Some compilers write a newer version than the rules of what they use ask for.
                ptx = re.sub(r"\.version 9\.\d", ".version 8.8", ptx)
                (folder / f"{name}.ptx").write_text(ptx)
                print(f"{name}: {ptx.count(chr(10))} lines")
        except Exception as error:  # a package is missing, or its compiler failed
            print(f"corpus: {origin.__name__}: {error!r}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
