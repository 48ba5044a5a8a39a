/* SPDX-License-Identifier: MIT */
#ifndef LIB_LINALG_CUDA_LIBRARY_H
#define LIB_LINALG_CUDA_LIBRARY_H

/*
 * cuBLAS, cuSOLVER and cuFFT, found at run time as lib/rtc/find.h says: by KUDZU_CUBLAS,
 * KUDZU_CUSOLVER and KUDZU_CUFFT, else in toolkits, NVIDIA's wheels, by the loader.  `none` turns
 * one off.
 *
 * The types and constants are NVIDIA's, declared here so that nothing needs the toolkit's headers.
 */
#include "lib/linalg/provider.h"

typedef struct cublasContext *cublasHandle_t;
typedef struct cusolverDnContext *cusolverDnHandle_t;
typedef struct cusolverDnParams *cusolverDnParams_t;
typedef CUstream cudaStream_t;
typedef void cufftReal, cufftComplex, cufftDoubleReal, cufftDoubleComplex;
typedef int cufftHandle, cufftType, libraryPropertyType, cudaDataType, cublasOperation_t,
	cublasFillMode_t, cublasSideMode_t,
	cublasDiagType_t, cublasMath_t, cublasComputeType_t, cublasGemmAlgo_t, cusolverEigMode_t;

enum cuda_constant {
#define E(name, value) name = value,
#include "lib/linalg/cublas.def"
#include "lib/linalg/cufft.def"
#undef E
};

enum cuda_part { CUDA_CUBLAS, CUDA_CUSOLVER, CUDA_CUFFT, CUDA_PARTS };

/* A function that a library lacks is NULL. */
struct cuda_library {
#define ELEMENT void
#define REAL void
#define F(library, name, symbol, parameters) int (*name) parameters;
#define X(library, name, prefix, real, complex, parameters)                                        \
	int (*name[LINALG_TYPES]) parameters;
#include "lib/linalg/cublas.def"
#include "lib/linalg/cufft.def"
#undef X
#undef F
#undef REAL
#undef ELEMENT
	struct cuda_object {
		char *path;     /* NULL: there is none */
		int version[3];
	} parts[CUDA_PARTS];
};

/* The libraries of the process, in which a part is found by the first call that asks for it;
 * cuSOLVER is found with cuBLAS.  They stay loaded.  NULL: no memory. */
const struct cuda_library *cuda_library_get(enum cuda_part part);
/* Where a part was looked for, and what was wrong there. */
const char *cuda_library_log(enum cuda_part part);
/* The variable that names a file for a part which is no such library; NULL: none does. */
const char *cuda_library_misnamed(const struct cuda_library *library, enum cuda_part part);
/* The file that would be loaded, without loading it; freed with mem_free.  NULL if there is no such
 * file, or when memory runs out.  A library that only the loader would find is not seen. */
char *cuda_library_look(enum cuda_part part);

#endif
