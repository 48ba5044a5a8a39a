# SPDX-License-Identifier: MIT
#
# The table of layers, and the libraries that follow from it.
#
# A layer is a folder of src, here with the libraries that hold its objects:
#
#	kudzu     libkudzu, shared and static
#	cpu       libkudzu-cpu.so, the driver of the CPU device
#	llvm      libkudzu-cpu-llvm.so, the part of the driver that needs LLVM
#	command   the program kudzu
#	cudart    libcudart.so.12 and .13 and libcudart_static.a, the CUDA runtime of ours
#	dropin    libraries under NVIDIA's names, for `kudzu cpu`: each is a file, with base
#
# A folder may use only those above it that share a library with it; `make check-layers` reads this
# table.
LAYERS := \
	base:kudzu:cpu:llvm:cudart:dropin \
	lib/cuda:kudzu \
	lib/rtc:kudzu \
	lib/cache:kudzu \
	lib/core:kudzu \
	lib/array:kudzu \
	lib/module:kudzu \
	lib/ops:kudzu \
	lib/comm:kudzu \
	lib/linalg:kudzu \
	lib/fft:kudzu \
	lib/order:kudzu \
	lib/sparse:kudzu \
	lib/random:kudzu \
	lib/tune:kudzu \
	cli:command \
	cpu/config:cpu:llvm \
	cpu/ptx:cpu:llvm \
	cpu/mem:cpu \
	cpu/runtime:cpu \
	cpu/check:cpu \
	cpu/ir:cpu:llvm \
	cpu/codegen/passes:llvm \
	cpu/codegen/values:llvm \
	cpu/codegen/control:llvm \
	cpu/codegen/ops:llvm \
	cpu/codegen/memory:llvm \
	cpu/codegen:llvm \
	cpu/profile:cpu \
	cpu/jit:cpu \
	cpu/exec:cpu \
	cpu/object:cpu \
	cpu/stream:cpu \
	cpu/abi:cpu \
	cudart:cudart \
	dropin:dropin

# $(call folders-of,LIBRARY), $(call sources-in,FOLDERS)
folders-of = $(foreach layer,$(LAYERS),$(if $(filter $1,$(subst :, ,$(layer))),$(firstword $(subst :, ,$(layer)))))
sources-in = $(foreach folder,$1,$(wildcard src/$(folder)/*.c))

HEADERS := $(wildcard include/kudzu/*.h include/kudzu/*.hpp)
# src/lib/kudzu.c has the version, and the map of the sources; src/lib/ffi.c the structs of all
# headers.
SOURCES_kudzu := src/lib/kudzu.c src/lib/ffi.c $(call sources-in,$(call folders-of,kudzu))
SOURCES_cpu := $(call sources-in,$(call folders-of,cpu))
SOURCES_llvm := $(call sources-in,$(call folders-of,llvm))
SOURCES_command := $(call sources-in,$(call folders-of,command))
SOURCES_cudart := $(call sources-in,$(call folders-of,cudart))
SOURCES_dropin := $(wildcard src/dropin/*.c)
# In tests the driver and LLVM's part of it are one.
SOURCES_device := $(sort $(SOURCES_cpu) $(SOURCES_llvm))
SOURCES_base := $(call sources-in,base)

# --- Flags that a folder has ---------------------------------------------------------------------

$(BUILD)/src/lib/cuda/%.o: private EXTRA = @$(BUILD)/folders.flags
$(call objects,$(call sources-in,lib/cuda)): $(BUILD)/folders.flags
# The handlers of faults must not call malloc, which the other models of thread-local memory may.
$(BUILD)/src/cpu/%.o: private EXTRA = -ftls-model=initial-exec
# The runtime of CUDA 12, whose structs and functions differ from those of 13.
$(BUILD)/cudart12/%.o: private EXTRA = -DKZ_CUDART=12
# Loops over lanes become vectors, also those with comparisons of floats, whose exceptions nobody
# looks at.
$(BUILD)/src/cpu/runtime/texture_%.o: private EXTRA = -ftls-model=initial-exec -O3 \
	-fno-trapping-math
$(BUILD)/src/cpu/codegen/%.o: private EXTRA = @$(BUILD)/llvm.flags
$(call objects,$(call sources-in,$(filter cpu/codegen%,$(call folders-of,llvm)))): $(BUILD)/llvm.flags
# The loader's auditor has no C library, which sanitizers would call, and at -O2 gcc for a loop that
# copies.
$(BUILD)/src/dropin/audit.o: private EXTRA = -O1 -ffreestanding -fno-stack-protector -fno-sanitize=all
# Text that the assembler includes.
$(BUILD)/src/lib/ops/device_code.o: $(wildcard kernels/*.cuh)
$(BUILD)/src/lib/rtc/headers.o: $(wildcard kernels/*.cuh)
$(BUILD)/src/cli/new.o: $(wildcard src/cli/template/*)
$(BUILD)/src/cli/debug.o: src/cli/debug.py
