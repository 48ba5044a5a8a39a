/* SPDX-License-Identifier: MIT */
#ifndef CUDART_API_H
#define CUDART_API_H

/*
 * The CUDA runtime, by its public interface: the types that the functions of exports.def take.
 *
 * All of src/cudart is compiled twice, with KZ_CUDART 12 and 13, because the two runtimes give the
 * same names to different functions and structs.  Types that are the same in the runtime and in the
 * driver are the driver's, from base/cuda_abi.h; enumerations are int.  Names, numbers and layouts
 * are those of cuda_runtime_api.h, with which tests/cudart/test_cudart_abi.c compares them where it
 * is installed.
 */
#include "base/common.h"

#include "base/cuda_abi.h"

#ifndef KZ_CUDART
#define KZ_CUDART 13
#endif
#if KZ_CUDART != 12 && KZ_CUDART != 13
#error "KZ_CUDART is 12 or 13"
#endif

/* What cudaRuntimeGetVersion says. */
#define CUDART_VERSION (KZ_CUDART == 12 ? 12090 : 13000)

typedef enum cudaError {
#define X(number, name, text) name = number,
#include "cudart/errors.def"
#undef X
} cudaError_t;

/* Define a function that programs call. */
#define API(name, ...)                                                                             \
	__attribute__((visibility("default"))) cudaError_t name(__VA_ARGS__);                      \
	cudaError_t name(__VA_ARGS__)

typedef CUstream cudaStream_t;
typedef CUevent cudaEvent_t;
typedef CUkernel cudaKernel_t;
typedef CUfunction cudaFunction_t;
typedef CUlibrary cudaLibrary_t;
typedef CUgraph cudaGraph_t;
typedef CUgraphNode cudaGraphNode_t;
typedef CUgraphExec cudaGraphExec_t;
typedef CUmemoryPool cudaMemPool_t;
typedef CUarray cudaArray_t;
typedef CUmipmappedArray cudaMipmappedArray_t;
typedef CUhostFn cudaHostFn_t;
typedef void (*cudaStreamCallback_t)(cudaStream_t stream, cudaError_t status, void *data);

typedef struct dim3 {
	unsigned int x;
	unsigned int y;
	unsigned int z;
} dim3;

enum cudaMemcpyKind {
	cudaMemcpyHostToHost = 0,
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
	cudaMemcpyDefault = 4,
};

enum cudaMemoryType {
	cudaMemoryTypeUnregistered = 0,
	cudaMemoryTypeHost = 1,
	cudaMemoryTypeDevice = 2,
	cudaMemoryTypeManaged = 3,
};

#define cudaInvalidDeviceId (-2)

struct cudaPointerAttributes {
	int type;
	int device;
	void *devicePointer;
	void *hostPointer;
#if KZ_CUDART >= 13
	long reserved[8];
#endif
};

struct cudaFuncAttributes {
	size_t sharedSizeBytes;
	size_t constSizeBytes;
	size_t localSizeBytes;
	int maxThreadsPerBlock;
	int numRegs;
	int ptxVersion;
	int binaryVersion;
	int cacheModeCA;
	int maxDynamicSharedSizeBytes;
	int preferredShmemCarveout;
	int clusterDimMustBeSet;
	int requiredClusterWidth;
	int requiredClusterHeight;
	int requiredClusterDepth;
	int clusterSchedulingPolicyPreference;
	int nonPortableClusterSizeAllowed;
	int reserved[16];
};

typedef struct cudaLaunchConfig_st {
	dim3 gridDim;
	dim3 blockDim;
	size_t dynamicSmemBytes;
	cudaStream_t stream;
	CUlaunchAttribute *attrs;
	unsigned int numAttrs;
} cudaLaunchConfig_t;

/* The struct of CUDA 13, and that of cudaGetDeviceProperties_v2 of CUDA 12: ONLY12 has what 13 has
 * no more, TAIL what 13 has at the end. */
#if KZ_CUDART == 12
#define ONLY12(member) member;
#else
#define ONLY12(member)
#endif

struct cudaDeviceProp {
	char name[256];
	CUuuid uuid;
	char luid[8];
	unsigned int luidDeviceNodeMask;
	size_t totalGlobalMem;
	size_t sharedMemPerBlock;
	int regsPerBlock;
	int warpSize;
	size_t memPitch;
	int maxThreadsPerBlock;
	int maxThreadsDim[3];
	int maxGridSize[3];
	ONLY12(int clockRate)
	size_t totalConstMem;
	int major;
	int minor;
	size_t textureAlignment;
	size_t texturePitchAlignment;
	ONLY12(int deviceOverlap)
	int multiProcessorCount;
	ONLY12(int kernelExecTimeoutEnabled)
	int integrated;
	int canMapHostMemory;
	ONLY12(int computeMode)
	int maxTexture1D;
	int maxTexture1DMipmap;
	ONLY12(int maxTexture1DLinear)
	int maxTexture2D[2];
	int maxTexture2DMipmap[2];
	int maxTexture2DLinear[3];
	int maxTexture2DGather[2];
	int maxTexture3D[3];
	int maxTexture3DAlt[3];
	int maxTextureCubemap;
	int maxTexture1DLayered[2];
	int maxTexture2DLayered[3];
	int maxTextureCubemapLayered[2];
	int maxSurface1D;
	int maxSurface2D[2];
	int maxSurface3D[3];
	int maxSurface1DLayered[2];
	int maxSurface2DLayered[3];
	int maxSurfaceCubemap;
	int maxSurfaceCubemapLayered[2];
	size_t surfaceAlignment;
	int concurrentKernels;
	int ECCEnabled;
	int pciBusID;
	int pciDeviceID;
	int pciDomainID;
	int tccDriver;
	int asyncEngineCount;
	int unifiedAddressing;
	ONLY12(int memoryClockRate)
	int memoryBusWidth;
	int l2CacheSize;
	int persistingL2CacheMaxSize;
	int maxThreadsPerMultiProcessor;
	int streamPrioritiesSupported;
	int globalL1CacheSupported;
	int localL1CacheSupported;
	size_t sharedMemPerMultiprocessor;
	int regsPerMultiprocessor;
	int managedMemory;
	int isMultiGpuBoard;
	int multiGpuBoardGroupID;
	int hostNativeAtomicSupported;
	ONLY12(int singleToDoublePrecisionPerfRatio)
	int pageableMemoryAccess;
	int concurrentManagedAccess;
	int computePreemptionSupported;
	int canUseHostPointerForRegisteredMem;
	int cooperativeLaunch;
	ONLY12(int cooperativeMultiDeviceLaunch)
	size_t sharedMemPerBlockOptin;
	int pageableMemoryAccessUsesHostPageTables;
	int directManagedMemAccessFromHost;
	int maxBlocksPerMultiProcessor;
	int accessPolicyMaxWindowSize;
	size_t reservedSharedMemPerBlock;
	int hostRegisterSupported;
	int sparseCudaArraySupported;
	int hostRegisterReadOnlySupported;
	int timelineSemaphoreInteropSupported;
	int memoryPoolsSupported;
	int gpuDirectRDMASupported;
	unsigned int gpuDirectRDMAFlushWritesOptions;
	int gpuDirectRDMAWritesOrdering;
	unsigned int memoryPoolSupportedHandleTypes;
	int deferredMappingCudaArraySupported;
	int ipcEventSupported;
	int clusterLaunch;
	int unifiedFunctionPointers;
#if KZ_CUDART == 12
	int reserved[63];
#else
	int deviceNumaConfig;
	int deviceNumaId;
	int mpsEnabled;
	int hostNumaId;
	unsigned int gpuPciDeviceID;
	unsigned int gpuPciSubsystemID;
	int hostNumaMultinodeIpcSupported;
	int reserved[56];
#endif
};
#undef ONLY12

#endif
