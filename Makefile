# SPDX-License-Identifier: MIT
#
# Builds, tests and installs Kudzu; `make help` lists what it can do.
#
# One makefile for the whole tree, and no configure step.  Nothing is looked for while it is read:
# the recipes do that (.ci/find-llvm, .ci/find-cuda) and leave the answer in $(BUILD), as files of
# flags that the compiler reads (`cc @file`).  Each of those files is rewritten only when its text
# changes, so changed flags rebuild exactly what they touch.

MODE ?= release
CPU ?= 1
# LLVM's part of the driver has LLVM in it, where that can be; but sanitizers would not see into it.
LLVM_LINK ?= $(if $(filter asan ubsan tsan,$(MODE)),shared,static)
BUILD ?= build/$(MODE)$(if $(filter 0,$(CPU)),-nocpu)
PTX := build/ptx

prefix ?= /usr/local
PREFIX ?= $(prefix)
bindir ?= $(PREFIX)/bin
libdir ?= $(PREFIX)/lib
includedir ?= $(PREFIX)/include
mandir ?= $(PREFIX)/share/man
BINDIR ?= $(bindir)
LIBDIR ?= $(libdir)
INCLUDEDIR ?= $(includedir)
MANDIR ?= $(mandir)
datadir ?= $(PREFIX)/share
DATADIR ?= $(datadir)

# Recipes do not quote paths; one with a space would end up somewhere else.
$(foreach v,BUILD BINDIR LIBDIR INCLUDEDIR MANDIR DATADIR DESTDIR,\
	$(if $(word 2,$($v)),$(error $v='$($v)': a path without spaces is needed)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --output-sync=target

# `make -j setup check`: setup must end before anything else begins, so with it among the goals
# this makefile knows only setup, and starts itself again for the rest.
ifneq ($(filter setup setup-dev,$(MAKECMDGOALS)),)

rest := $(filter-out setup setup-dev help,$(MAKECMDGOALS))
setup-environment = CPU='$(CPU)' LLVM_CONFIG='$(LLVM_CONFIG)' NVRTC='$(NVRTC)'

.PHONY: setup setup-dev the-rest $(rest)
setup: ## install what is missing to build, run and test (NVRTC=wheel: with NVIDIA's wheels)
	@$(setup-environment) .ci/setup
setup-dev: setup ## the same, and the tools that check-all needs
	@$(setup-environment) .ci/setup dev
the-rest: $(filter setup setup-dev,$(MAKECMDGOALS))
	@$(MAKE) --no-print-directory $(rest)
$(rest): the-rest ; @:

else

# --- Sources, by layer ---------------------------------------------------------------------------

HEADERS := $(addprefix include/kudzu/,kudzu.h version.h error.h dtype.h device.h stream.h memory.h \
	image.h module.h kernel.h diagnose.h shape.h preprocessor.h \
	array.h view.h join.h warm.h \
	pool.h pinned.h \
	diagnostic.h cache.h \
	npy.h dlpack.h create.h \
	ops.h \
	reduce.h \
	indexing.h linalg.h scan.h \
	eval.h \
	custom.h \
	inspect.h layout.h \
	link.h bundle.h \
	ffi.h \
	)
BASE := src/base/lz4.c \
	src/base/squeeze.c \
	src/base/fatbin.c \
	src/base/error.c \
	src/base/alloc.c \
	src/base/str.c \
	src/base/arena.c \
	src/base/map.c \
	src/base/file.c \
	src/base/dl.c \
	src/base/hash.c \
	src/base/hash_wide.c \
	src/base/store.c \
	src/base/store_io.c \
	src/base/store_folder.c \
	src/base/store_size.c \
	src/base/store_walk.c \
	src/base/store_key.c
DRV := src/drv/drv.c \
	src/drv/codes.c
RTC := src/rtc/find.c \
	src/rtc/nvrtc.c \
	src/rtc/thread.c \
	src/rtc/hints.c \
	src/rtc/blame.c \
	src/rtc/keep.c \
	src/cache/pch.c \
	src/rtc/elf.c \
	src/rtc/ptx_text.c \
	src/rtc/nvjitlink.c \
	src/rtc/parts.c \
	src/rtc/symbols.c \
	src/rtc/link_log.c \
	src/rtc/rtc_link.c \
	src/rtc/ptx_version.c \
	src/rtc/headers.c \
	src/rtc/source_scan.c \
	src/rtc/arch.c \
	src/rtc/compile.c \
	src/rtc/job.c \
	src/rtc/diag.c \
	src/rtc/signature.c \
	src/rtc/demangle.c \
	src/rtc/type.c \
	src/rtc/cubin.c \
	src/rtc/variable.c \
	src/rtc/resources.c \
	src/rtc/rtc_image.c \
	src/rtc/image_ptx.c \
	src/rtc/image_cubin.c \
	src/cache/pack.c \
	src/cache/includes.c \
	src/cache/looked.c \
	src/cache/reach.c \
	src/cache/reach_search.c \
	src/cache/reach_closure.c \
	src/cache/compiler.c \
	src/cache/key.c \
	src/cache/cache.c \
	src/cache/listed.c
LIB := $(BASE) $(DRV) $(RTC) src/kudzu.c \
	src/core/error_value.c \
	src/core/dtype.c \
	src/core/device.c \
	src/core/stream.c \
	src/core/memory.c \
	src/core/copy.c \
	src/core/bins.c \
	src/core/shelf.c \
	src/core/source.c \
	src/core/mempool.c \
	src/core/pool.c \
	src/core/pinned.c \
	src/module/inspect.c \
	src/module/layout.c \
	src/module/global.c \
	src/module/image.c \
	src/module/compiled.c \
	src/module/loaded.c \
	src/module/module.c \
	src/module/refusal.c \
	src/module/missing.c \
	src/module/kernel.c \
	src/module/args.c \
	src/array/format.c \
	src/core/diagnose.c \
	src/module/cache_inspect.c \
	src/module/diagnostic.c \
	src/module/link.c \
	src/module/load.c \
	src/module/bundle.c \
	src/module/ffi.c \
	src/module/warm.c \
	src/module/warm_request.c \
	src/array/shape.c \
	src/array/strided.c \
	src/array/array.c \
	src/array/span.c \
	src/array/transfer.c \
	src/array/across.c \
	src/array/npy.c \
	src/array/npy_parse.c \
	src/array/npz.c \
	src/array/zip.c \
	src/array/inflate.c \
	src/array/dlpack.c \
	src/ops/create.c \
	src/array/view.c \
	src/array/slice.c \
	src/array/reshape.c \
	src/ops/join.c \
	src/ops/promote.c \
	src/ops/expr.c \
	src/ops/device_code.c \
	src/ops/generate.c \
	src/ops/kernels.c \
	src/ops/plan.c \
	src/ops/elementwise.c \
	src/ops/shortcut.c \
	src/ops/ops.c \
	src/ops/reduce.c \
	src/ops/reduce_pass.c \
	src/ops/reduce_text.c \
	src/ops/indexing.c \
	src/ops/linalg.c \
	src/ops/scan.c \
	src/ops/transpose.c \
	src/ops/eval_lex.c \
	src/ops/eval_parse.c \
	src/ops/eval.c \
	src/array/overlap.c \
	src/ops/declare.c \
	src/ops/custom.c \
	src/ops/custom_text.c \
	src/ops/custom_bind.c \
	src/ops/custom_elementwise.c \
	src/ops/custom_reduction.c
CPU_DRIVER := $(BASE) src/cpu/ptx/ptx.c \
	src/cpu/ptx/ptx_mma.c \
	src/cpu/ptx/lex.c \
	src/cpu/ptx/parser.c \
	src/cpu/ptx/parse.c \
	src/cpu/ptx/parse_part.c \
	src/cpu/ptx/parse_expr.c \
	src/cpu/ptx/parse_reg.c \
	src/cpu/ptx/parse_var.c \
	src/cpu/ptx/parse_body.c \
	src/cpu/ptx/parse_operand.c \
	src/cpu/ptx/parse_call.c \
	src/cpu/ptx/check.c \
	src/cpu/ptx/check_operand.c \
	src/cpu/ptx/check_text.c \
	src/cpu/ptx/check_call.c \
	src/cpu/ir/flatten.c \
	src/cpu/ir/flat_kind.c \
	src/cpu/ir/flat_args.c \
	src/cpu/ir/flat_graph.c \
	src/cpu/ir/flat_frame.c \
	src/cpu/ir/flat_body.c \
	src/cpu/ir/flat_call.c \
	src/cpu/ir/flat_stack.c \
	src/cpu/ir/flat_inst.c \
	src/cpu/ir/lower.c \
	src/cpu/ir/cfg.c \
	src/cpu/ir/spin.c \
	src/cpu/ir/split.c \
	src/cpu/ir/team.c \
	src/cpu/ir/shape_class.c \
	src/cpu/runtime/heap.c \
	src/cpu/runtime/print.c \
	src/cpu/runtime/rt.c \
	src/cpu/config/features.c \
	src/cpu/config/settings.c \
	src/cpu/runtime/rt_collect.c \
	src/cpu/runtime/rt_warp.c \
	src/cpu/runtime/rt_atom.c \
	src/cpu/runtime/rt_mbarrier.c \
	src/cpu/runtime/rt_mma.c \
	src/cpu/runtime/rt_matrix.c \
	src/cpu/runtime/texture.c \
	src/cpu/runtime/surface.c \
	src/cpu/jit/kept.c \
	src/cpu/jit/outline.c \
	src/cpu/jit/code.c \
	src/cpu/jit/jit_open.c \
	src/cpu/jit/jit.c \
	src/cpu/ptx/image.c \
	src/cpu/ptx/link_scan.c \
	src/cpu/ptx/link.c \
	src/cpu/mem/capacity.c \
	src/cpu/mem/share.c \
	src/cpu/mem/memory_map.c \
	src/cpu/mem/advice.c \
	src/cpu/mem/memory.c \
	src/cpu/mem/fault.c \
	src/cpu/exec/pool.c \
	src/cpu/exec/block.c \
	src/cpu/exec/room.c \
	src/cpu/exec/bypass.c \
	src/cpu/exec/launch.c \
	src/cpu/stream/graph_memory.c \
	src/cpu/stream/graph.c \
	src/cpu/stream/graph_run.c \
	src/cpu/stream/tail.c \
	src/cpu/stream/capture.c \
	src/cpu/stream/work.c \
	src/cpu/ptx/line.c \
	src/cpu/stream/runner.c \
	src/cpu/stream/event_share.c \
	src/cpu/stream/queue.c \
	src/cpu/stream/event.c \
	src/cpu/stream/stream.c \
	src/cpu/object/handle.c \
	src/cpu/object/object.c \
	src/cpu/abi/api_context.c \
	src/cpu/abi/api_context_info.c \
	src/cpu/abi/api_device.c \
	src/cpu/abi/api_property.c \
	src/cpu/abi/api_image.c \
	src/cpu/abi/api_kernel.c \
	src/cpu/abi/api_survey.c \
	src/cpu/abi/api_variant.c \
	src/cpu/abi/api_module.c \
	src/cpu/abi/api_library.c \
	src/cpu/abi/api_link.c \
	src/cpu/abi/api_function.c \
	src/cpu/abi/api_occupancy.c \
	src/cpu/abi/api_host.c \
	src/cpu/abi/api_pointer.c \
	src/cpu/abi/api_managed.c \
	src/cpu/abi/api_memory.c \
	src/cpu/abi/api_pool.c \
	src/cpu/abi/api_pool_ipc.c \
	src/cpu/abi/api_mapping.c \
	src/cpu/abi/api_ipc.c \
	src/cpu/abi/api_array.c \
	src/cpu/abi/api_copy_array.c \
	src/cpu/abi/api_texture.c \
	src/cpu/runtime/rt_fetch.c \
	src/cpu/abi/api_copy.c \
	src/cpu/abi/api_batch.c \
	src/cpu/abi/api_stream.c \
	src/cpu/abi/api_event.c \
	src/cpu/abi/api_context_event.c \
	src/cpu/abi/api_value.c \
	src/cpu/abi/api_launch.c \
	src/cpu/abi/api_launch_old.c \
	src/cpu/abi/api_log.c \
	src/cpu/abi/api_misc.c \
	src/cpu/stream/graph_node.c \
	src/cpu/abi/api_graph.c \
	src/cpu/abi/api_graph_node.c \
	src/cpu/abi/api_graph_exec.c \
	src/cpu/abi/api_graph_update.c \
	src/cpu/abi/api_graph_misc.c \
	src/cpu/abi/api_capture.c \
	src/cpu/abi/api_stream_attr.c \
	src/cpu/abi/exports.c
# What needs LLVM, and what that needs of the rest.  In tests both are one.
LLVM_PART := src/cpu/ir/shape_pool.c \
	src/cpu/ir/shape_ops.c \
	src/cpu/ir/shape.c \
	src/cpu/codegen/emit.c \
	src/cpu/codegen/emit_slots.c \
	src/cpu/codegen/emit_lanes.c \
	src/cpu/codegen/emit_alu.c \
	src/cpu/codegen/emit_bits.c \
	src/cpu/codegen/emit_cmp.c \
	src/cpu/codegen/emit_cvt.c \
	src/cpu/codegen/emit_float.c \
	src/cpu/codegen/emit_trace.c \
	src/cpu/codegen/emit_warp.c \
	src/cpu/codegen/emit_warps.c \
	src/cpu/codegen/emit_guard.c \
	src/cpu/codegen/emit_team.c \
	src/cpu/codegen/emit_meet.c \
	src/cpu/codegen/emit_alone.c \
	src/cpu/codegen/emit_async.c \
	src/cpu/codegen/emit_matrix.c \
	src/cpu/codegen/emit_half.c \
	src/cpu/codegen/emit_fp8.c \
	src/cpu/codegen/emit_video.c \
	src/cpu/codegen/emit_tex.c \
	src/cpu/codegen/emit_math.c \
	src/cpu/codegen/emit_mem.c \
	src/cpu/codegen/emit_local.c \
	src/cpu/codegen/emit_strong.c \
	src/cpu/codegen/emit_wide.c \
	src/cpu/codegen/emit_shaped.c \
	src/cpu/codegen/emit_fetch.c \
	src/cpu/codegen/emit_atom.c \
	src/cpu/codegen/emit_flow.c \
	src/cpu/codegen/emit_call.c \
	src/cpu/codegen/emit_base.c \
	src/cpu/codegen/emit_wrap.c \
	src/cpu/codegen/emit_drift.c \
	src/cpu/codegen/emit_bunch.c \
	src/cpu/codegen/emit_bypass.c \
	src/cpu/codegen/emit_bypass_loop.c \
	src/cpu/codegen/jit_link.c \
	src/cpu/codegen/jit_dump.c \
	src/cpu/codegen/jit_llvm.c
LLVM_SHARED := $(BASE) src/cpu/ptx/ptx.c \
	src/cpu/ptx/ptx_mma.c \
	src/cpu/ir/cfg.c \
	src/cpu/ir/spin.c \
	src/cpu/ir/split.c \
	src/cpu/ir/team.c \
	src/cpu/ir/shape_class.c \
	src/cpu/config/features.c \
	src/cpu/config/settings.c \
	src/cpu/jit/code.c
CPU_ALL := $(CPU_DRIVER) $(LLVM_PART)
CLI := $(addprefix src/cli/,main.c report.c source.c numeral.c argument.c parameters.c \
	cache.c compile.c cpu.c doctor.c dump.c new.c run.c run_guard.c run_values.c run_show.c worker.c)
sources := $(LIB) $(CPU_ALL) $(CLI)
SAMPLES := 01_doublify 02_vecadd 03_device_info \
	04_double 05_devices 06_fused 07_npy 08_heat \
	09_template 10_reload \
	11_bundle 12_compile
# Programs whose text and output the pages of docs show.
EXAMPLES := errors troubles tutorial handling
BENCHES := bench_launch bench_latency bench_host bench_pool bench_compile bench_hits bench_cold bench_array bench_reduce bench_modules \
	bench_link bench_warm \
	bench_cache bench_jit \
	bench_cpu bench_nvcc

# A suite NAME is test_NAME.c in some folder of tests, which exports NAME_suite.
SUITES_kudzu := warm base error file hash squeeze store store_calls store_race store_owner drv codes abi signature source_scan diag headers rtc_image \
	nvrtc rtc_compile args dtype shape device stream memory compile module kernel diagnose cuda hero \
	pack reach looked key listed loaded cache \
	resources \
	hints diagnostic keep pch libraries \
	elementwise_errors \
	mempool mempool_model allocator pinned \
	array transfer npy npz dlpack create \
	view slice reshape view_random join \
	promote elementwise shortcut ops pycuda pycuda_views \
	eval_parse eval eval_values eval_chain \
	indexing linalg scan transpose \
	reduce reduce_random \
	inspect layout \
	parts image_link load bundle \
	declare overlap custom custom_shape custom_reduction \
	argument parameters
SUITES_cpu := lex parse outline api_survey check flatten flat_stack cfg cpu_shape code features kept jit_dump emit emit_flow emit_call syntax cpu_memory \
	pool launch launch_long progress image api api_kernels api_mapping api_ipc api_garbage api_old \
	api_batch link settings capacity api_device api_coop api_host api_managed api_library api_link \
	heap print corpus forms ulp half api_graph api_graph_exec api_graph_memory api_capture \
	api_stream api_value api_pool api_cancel api_random api_race api_crowd api_want fuzz_diff \
	hostile guard texture api_array api_texture emit_warp emit_video emit_wide emit_local emit_alone emit_atom emit_base emit_async emit_size emit_warps emit_guard emit_team emit_wrap emit_drift emit_fetch emit_bypass mma
# What kernels compute, by the driver API alone: for NVIDIA's driver too.
SUITES_driver := emit emit_warp emit_video emit_wide emit_local emit_alone emit_atom emit_warps emit_guard \
	emit_drift half forms ulp mma corpus syntax
# Run by hand.
HAND_kudzu := large
SUITES := $(SUITES_kudzu) $(SUITES_cpu) $(HAND_kudzu)
# Random programs, and what runs and compares them.
GENERATOR := tests/cpu/random/gen.c \
	tests/cpu/random/gen_flow.c \
	tests/cpu/random/gen_call.c \
	tests/cpu/random/gen_ops.c \
	tests/cpu/random/gen_run.c \
	tests/cpu/random/gen_ptx.c \
	tests/cpu/random/gen_cuda.c \
	tests/cpu/random/diff.c \
	tests/cpu/random/diff_cuda.c \
	tests/cpu/random/softfloat.c \
	src/rtc/find.c \
	src/rtc/nvrtc.c
SUPPORT_kudzu := tests/support/calls.c \
	tests/support/store_folder.c \
	tests/support/support.c \
	tests/drv/abi_ours.c \
	tests/drv/abi_real.c \
	tests/support/ints.c \
	tests/support/number.c \
	tests/ops/ops_ref.c \
	src/cli/numeral.c \
	src/cli/argument.c \
	src/cli/parameters.c \
	src/cli/report.c
SUPPORT_driver := tests/cpu/random/gen.c \
	tests/cpu/random/gen_flow.c \
	tests/cpu/random/gen_call.c \
	tests/cpu/random/gen_ops.c \
	tests/cpu/random/gen_run.c \
	tests/cpu/random/gen_ptx.c \
	tests/cpu/random/gen_cuda.c \
	tests/cpu/random/diff.c \
	tests/cpu/random/diff_cuda.c \
	tests/cpu/random/softfloat.c \
	src/rtc/find.c \
	src/rtc/nvrtc.c \
	tests/cpu/support/driver_other.c \
	tests/support/store_folder.c \
	tests/support/ints.c \
	tests/cpu/forms/forms.c \
	tests/cpu/forms/forms_int.c \
	tests/cpu/forms/forms_float.c \
	tests/cpu/corpus/corpus.c \
	tests/cpu/corpus/corpus_basic.c \
	tests/cpu/corpus/corpus_stencil.c \
	tests/cpu/corpus/corpus_int.c \
	tests/cpu/corpus/corpus_half.c \
	tests/cpu/corpus/corpus_atomics.c \
	tests/cpu/corpus/corpus_warp.c \
	tests/cpu/corpus/corpus_calls.c \
	tests/cpu/corpus/corpus_math.c \
	tests/cpu/corpus/corpus_memory.c \
	tests/cpu/corpus/corpus_random.c \
	tests/cpu/corpus/corpus_cg.c \
	tests/cpu/corpus/corpus_texture.c
SUPPORT_cpu := tests/cpu/random/gen.c \
	tests/cpu/random/gen_flow.c \
	tests/cpu/random/gen_call.c \
	tests/cpu/random/gen_ops.c \
	tests/cpu/random/gen_run.c \
	tests/cpu/random/gen_ptx.c \
	tests/cpu/random/gen_cuda.c \
	tests/cpu/random/diff.c \
	tests/cpu/random/diff_cuda.c \
	tests/cpu/random/softfloat.c \
	src/rtc/find.c \
	src/rtc/nvrtc.c \
	tests/support/store_folder.c \
	tests/support/ints.c \
	tests/cpu/forms/forms.c \
	tests/cpu/forms/forms_int.c \
	tests/cpu/forms/forms_float.c \
	tests/cpu/corpus/corpus.c \
	tests/cpu/corpus/corpus_basic.c \
	tests/cpu/corpus/corpus_stencil.c \
	tests/cpu/corpus/corpus_int.c \
	tests/cpu/corpus/corpus_half.c \
	tests/cpu/corpus/corpus_atomics.c \
	tests/cpu/corpus/corpus_warp.c \
	tests/cpu/corpus/corpus_calls.c \
	tests/cpu/corpus/corpus_math.c \
	tests/cpu/corpus/corpus_memory.c \
	tests/cpu/corpus/corpus_random.c \
	tests/cpu/corpus/corpus_cg.c \
	tests/cpu/corpus/corpus_texture.c \
	tests/cpu/support/driver_ours.c \
	tests/cpu/support/big_text.c \
	tests/support/support.c \
	tests/cpu/support/machine.c \
	tests/cpu/support/grid.c
# tests/data/cuda/NAME.cu, compiled for each of these architectures when the tests are built.
CORPUS := 01_vecadd 02_matmul 03_reduce_shfl 04_half 05_atomics 06_warp 07_printf 08_smem_const \
	09_tex 10_coop 11_cub 12_math 13_int 14_switch_call 15_local_volatile 16_wmma 17_cpasync \
	18_curand 19_malloc 20_nbody 21_stencil_conv 22_complex_templ 23_fp8 24_cluster \
	25_bfs_ragged 26_cdp_misc 27_brx 28_switch64 29_cdp
PTX_29_cdp := --relocatable-device-code=true
CORPUS_ARCHS := 75 80 90 100
corpus-ptx := $(foreach arch,$(CORPUS_ARCHS),$(CORPUS:%=$(PTX)/%.$(arch).ptx))
STUB := $(addprefix tests/stub/,stub.c script.c memory.c module.c)

# --- Version, flags ------------------------------------------------------------------------------

version-h := $(file <include/kudzu/version.h)
version-of = $(patsubst $1=%,%,$(filter $1=%,$(subst $1 ,$1=,$(version-h))))
MAJOR := $(call version-of,KZ_VERSION_MAJOR)
MINOR := $(call version-of,KZ_VERSION_MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version-of,KZ_VERSION_PATCH)
# While the major number is 0 a minor version may break programs, so it is in the soname.
SOVERSION := $(if $(filter 0,$(MAJOR)),0.$(MINOR),$(MAJOR))

MODE_debug := -O0 -g3
MODE_release := -O2 -g
MODE_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
# gcc says so by itself, clang does not (`make check-tsan CC=clang`).
MODE_tsan := -O1 -g -fsanitize=thread -D__SANITIZE_THREAD__=1
$(if $(MODE_$(MODE)),,$(error MODE=$(MODE): expected debug, release, asan, ubsan or tsan))
$(if $(filter 0 1,$(CPU)),,$(error CPU=$(CPU): expected 1 or 0))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
# The source folder's own name is in nothing that is built: the same sources give the same bytes.
COMPILE = $(CC) -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden -pthread -Iinclude -iquote src -iquote tests \
	-ffile-prefix-map=$(CURDIR)=. \
	$(MODE_$(MODE)) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP
# What is cached is only good for the build that made it, which its id tells.
LINK = $(CC) -pthread $(MODE_$(MODE)) $(CFLAGS) -Wl,--build-id $(LDFLAGS)
# A sanitizer's runtime belongs to the program: there a library may have undefined symbols.
SHARED = $(LINK) -shared -Wl,-Bsymbolic-functions $(if $(findstring san,$(MODE)),,-Wl,-z,defs)

LIBS += -ldl -lm
# To carry the tests to a machine without Check: CHECK_LIBS='-l:libcheck.a -lsubunit -lrt -lm'.
CHECK_LIBS = $$(pkg-config --libs check)

cpu-driver := $(if $(filter 0,$(CPU)),,libkudzu-cpu.so libkudzu-cpu-llvm.so)
cpu-names := $(if $(cpu-driver),kudzu-cpu/libcuda.so.1 kudzu-cpu/libcuda.so)
objects = $(patsubst %.c,$(BUILD)/%.o,$1)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $1 $(@:$(BUILD)/%=%);)
# $(call rewrite,COMMAND): the target holds what COMMAND prints; untouched if it does already.
rewrite = @mkdir -p $(@D); $1 >$@.new && \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
print = printf '%s\n' '$(subst ','\'',$1)'
# $(call step,NAME,COMMAND): a check that is not a Check suite; .ci/totals counts these lines.
step = @if $2; then echo 'PASS: $1'; else echo 'FAIL: $1'; exit 1; fi

# --- Building ------------------------------------------------------------------------------------

.PHONY: FORCE all lib run install uninstall dist clean
all: lib $(BUILD)/kudzu ## build the libraries and the program (the default)
lib: $(addprefix $(BUILD)/,libkudzu.so libkudzu.a $(cpu-driver) $(cpu-names)) ## build the libraries

$(BUILD)/config: FORCE
	$(call rewrite,$(call print,$(COMPILE) | $(LINK) | $(LLVM_CONFIG) | $(LLVM_LINK) | $(SUITES) | $(SUITES_driver) | $(sources)))
$(BUILD)/folders.flags: FORCE
	$(call rewrite,$(call print,-DKZ_LIBDIR=\"$(LIBDIR)\" -DKZ_WITH_CPU=$(CPU)))
$(BUILD)/cuda.flags: FORCE
	$(call rewrite,.ci/find-cuda --flags)
$(BUILD)/llvm.flags $(BUILD)/llvm.libs &: $(BUILD)/config .ci/find-llvm
	@config=$$(LLVM_CONFIG='$(LLVM_CONFIG)' .ci/find-llvm) && \
	echo "-isystem $$($$config --includedir)" >$(BUILD)/llvm.flags && \
	$$config --link-shared --ldflags --libs core orcjit native passes >$(BUILD)/llvm.libs
$(BUILD)/llvm.part: $(BUILD)/llvm.libs .ci/llvm-part
	@CC='$(CC)' .ci/llvm-part "$$(LLVM_CONFIG='$(LLVM_CONFIG)' .ci/find-llvm)" $(LLVM_LINK) >$@

$(BUILD)/%.o: %.c $(BUILD)/config
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -c -o $@ $<
$(BUILD)/src/drv/%.o: private EXTRA = @$(BUILD)/folders.flags
$(call objects,$(DRV)): $(BUILD)/folders.flags
$(BUILD)/src/ops/device_code.o: $(wildcard kernels/*.cuh)
$(BUILD)/src/cli/new.o: $(wildcard src/cli/template/*)
# The handlers of faults must not call malloc, which the other models of thread-local memory may.
$(call objects,$(filter src/cpu/%,$(CPU_DRIVER))): private EXTRA = -ftls-model=initial-exec
$(call objects,$(LLVM_PART)): private EXTRA = @$(BUILD)/llvm.flags
$(call objects,$(LLVM_PART)): $(BUILD)/llvm.flags

# nodelete: drivers do not survive dlclose, so they and the cache's folder are kept; what knows of
# them must stay too, for the next dlopen to find them.
$(BUILD)/libkudzu.so.$(VERSION): $(call objects,$(LIB)) src/kudzu.map
	$(call say,LD)$(SHARED) -Wl,-soname,libkudzu.so.$(SOVERSION) -Wl,-z,nodelete \
		-Wl,--version-script=src/kudzu.map -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/libkudzu.so: $(BUILD)/libkudzu.so.$(VERSION)
	@ln -sf libkudzu.so.$(VERSION) $(BUILD)/libkudzu.so.$(SOVERSION)
	@ln -sf libkudzu.so.$(SOVERSION) $@
# One object with the internal names made local: they cannot clash with those of a program.
$(BUILD)/libkudzu.a: $(call objects,$(LIB))
	@rm -f $@
	$(call say,AR)$(LD) -r -o $(BUILD)/libkudzu.o $^ && \
		objcopy --localize-hidden $(BUILD)/libkudzu.o && $(AR) rcsD $@ $(BUILD)/libkudzu.o
# nodelete: its worker threads run its code as long as there is a context.
$(BUILD)/libkudzu-cpu.so: $(call objects,$(CPU_DRIVER)) src/kudzu-cpu.map
	$(call say,LD)$(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/kudzu-cpu.map \
		-Wl,-z,nodelete -o $@ $(filter %.o,$^) $(LIBS)
# LLVM takes milliseconds to load, so it is in a library of its own, for kernels that are not cached.
$(BUILD)/libkudzu-cpu-llvm.so: $(call objects,$(LLVM_PART) $(LLVM_SHARED)) $(BUILD)/llvm.part \
		src/kudzu-cpu-llvm.map
	$(call say,LD)$(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/kudzu-cpu-llvm.map \
		-Wl,-z,nodelete -o $@ $(filter %.o,$^) @$(BUILD)/llvm.part $(LIBS)
# The same under the names of NVIDIA's driver, for `kudzu cpu`; links that hold in every PREFIX.
$(addprefix $(BUILD)/,$(cpu-names)): $(BUILD)/libkudzu-cpu.so
	@mkdir -p $(@D) && ln -sf ../libkudzu-cpu.so $@
# It finds its library in the build folder, and where both are installed, moved or not.
$(BUILD)/kudzu: $(call objects,$(CLI)) $(BUILD)/libkudzu.so
	$(call say,LD)$(LINK) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/'"$$(realpath -m --relative-to=$(BINDIR) $(LIBDIR)):$(LIBDIR)" \
		-o $@ $(filter %.o,$^) -L$(BUILD) -lkudzu $(LIBS)

# Samples, examples and benchmarks are built as a user would build them.
build-sample = $(call say,CC)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -pedantic -Iinclude \
	$(MODE_$(MODE)) $(CPPFLAGS) $(CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(LDFLAGS) \
	-Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' -L$(BUILD) -lkudzu
$(BUILD)/samples/%: samples/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample)
$(BUILD)/docs/examples/%: docs/examples/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample)
$(BUILD)/bench/%: bench/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample) $(LIBS)
# The store is inside the library.
$(BUILD)/bench/bench_cache: $(call objects,$(BASE))
$(BUILD)/bench/bench_cache: private CPPFLAGS += -iquote src
$(BUILD)/bench/bench_cache: private LDFLAGS += $(call objects,$(BASE))
# The loops that bench_array is compared with: all that the compiler can do.
$(BUILD)/bench/array_loops.o: bench/array_loops.c bench/array_loops.h $(BUILD)/config
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=gnu11 -Wall -Wextra -O3 -march=native -fopenmp -c \
		-o $@ $<
$(BUILD)/bench/bench_array: $(BUILD)/bench/array_loops.o
$(BUILD)/bench/bench_array: private LDFLAGS += $(BUILD)/bench/array_loops.o -fopenmp
# The same for bench_cpu, once more as for a machine with AVX2.
cpu-objects := $(patsubst %,$(BUILD)/bench/cpu_%.o,loops-native loops-avx2 limits jobs worker engine_c \
	engine_kudzu engine_opencl)
$(BUILD)/bench/cpu_loops-native.o: private EXTRA = -O3 -march=native -DENDING=native
$(BUILD)/bench/cpu_loops-avx2.o: private EXTRA = -O3 -march=x86-64-v3 -DENDING=avx2
$(BUILD)/bench/cpu_limits.o: private EXTRA = -O3 -march=native
$(BUILD)/bench/cpu_worker.o: $(wildcard bench/cpu_kernels.c*)
$(BUILD)/bench/cpu_loops-native.o $(BUILD)/bench/cpu_loops-avx2.o: $(BUILD)/bench/cpu_loops-%.o: \
		bench/cpu_loops.c
$(filter-out %-native.o %-avx2.o,$(cpu-objects)): $(BUILD)/bench/cpu_%.o: bench/cpu_%.c
$(cpu-objects): bench/cpu_sha256.h $(wildcard bench/cpu_*.h) bench/bench.h $(BUILD)/config
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=gnu11 -Wall -Wextra -Iinclude -O2 $(EXTRA) -c -o $@ \
		$(filter %.c,$^)
$(BUILD)/bench/bench_cpu: $(cpu-objects)
$(BUILD)/bench/bench_cpu: private LDFLAGS += $(cpu-objects) -pthread

# --- Running and testing -------------------------------------------------------------------------

# NVRTC from the wheels, where `make setup` put them; the user's own choice comes first.
wheel := build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13
nvrtc = $(if $(wildcard $(wheel)),KUDZU_NVRTC="$${KUDZU_NVRTC-$(CURDIR)/$(wheel)}",$(if \
	$(filter wheel,$(NVRTC)),$(error no wheels in build/nvrtc: run `make setup NVRTC=wheel`)))
# What tests compile is kept beside them, for the next test: each is a process of its own.
test-cache = KUDZU_CACHE="$${KUDZU_CACHE-1}" KUDZU_CACHE_DIR="$(abspath $(BUILD))/test-cache"
retry = $(if $(filter asan,$(MODE)),.ci/run-tests)
# A test's own limit, which a busy machine must not reach.
export CK_DEFAULT_TIMEOUT ?= 180
# Compiled kernels are no sanitizer's business, and one thread's values not those of tsan.
SKIP_asan := ulp emit_size forms half fuzz_diff corpus ops shortcut eval_values eval_chain reduce_random pycuda \
	pycuda_views linalg scan view_random transpose custom_shape promote libraries hints
SKIP_ubsan := $(SKIP_asan) hostile
SKIP_tsan := $(SKIP_asan) hostile lex parse check cfg flatten emit emit_flow emit_call texture mma \
	view slice reshape join shape indexing npy npz dlpack create eval_parse eval declare overlap \
	custom_reduction reduce elementwise_errors signature source_scan diag headers rtc_image \
	pack key resources parts reach keep pch rtc_compile hash store_calls store_owner \
	diagnostic layout inspect bundle load image_link codes abi args dtype \
	flat_stack syntax emit_async emit_base emit_bypass emit_video emit_warp emit_wide emit_local emit_atom
SKIP ?= $(SKIP_$(MODE))
patience = $(if $(findstring san,$(MODE)),CK_TIMEOUT_MULTIPLIER=4 KUDZU_TEST_BRIEF=1)
# To find the thread-local memory of libraries, the leak sanitizer looks for a header that glibc has
# no more, and falls over what is there instead.
patience += $(if $(filter asan,$(MODE)),ASAN_OPTIONS="intercept_tls_get_addr=0:$$ASAN_OPTIONS")
sample-programs := $(SAMPLES:%=$(BUILD)/samples/%)

run: all $(sample-programs) ## build and run the samples
	@for sample in $(sample-programs); do echo "$$sample"; $(nvrtc) $$sample || exit 1; done

.PHONY: check-cli
# The command has one thread: tsan has nothing to find in what it prints.
check-cli: all
	$(call step,check-cli compile,$(nvrtc) $(patience) tests/cli/check_compile $(BUILD))
	$(if $(filter tsan,$(MODE)),,$(call step,check-cli run,$(nvrtc) $(patience) tests/cli/check_run $(BUILD)))
	$(if $(filter tsan,$(MODE)),,$(call step,check-cli project,$(nvrtc) $(patience) tests/cli/check_project $(BUILD)))
	$(if $(findstring san,$(MODE)),,$(call step,check-cli completions,tests/cli/check_completions))
.PHONY: check check-unit check-kudzu check-cpu check-samples check-pages check-layers check-pycuda check-ptx-md check-dropin check-ffi check-citizen
check: check-unit check-cli check-samples check-pages check-layers check-pycuda check-ptx-md $(if $(findstring san,$(MODE)),,check-ffi $(if $(cpu-driver),check-dropin check-citizen)) ## run the tests, the samples, the README
check-unit: check-kudzu $(if $(filter 0,$(CPU)),,check-cpu)
check-kudzu: $(patsubst %,check-kudzu-%,$(filter-out $(SKIP),$(SUITES_kudzu)))
check-cpu: $(patsubst %,check-cpu-%,$(filter-out $(SKIP),$(SUITES_cpu)))
# A suite at a time, so that -j runs several at once.
run-suite = @$(nvrtc) $(if $(filter check-kudzu-%,$@),$(test-cache)) $(patience) CK_RUN_SUITE=$* $(retry) $<
check-kudzu-%: $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so lib
	$(run-suite)
check-cpu-%: $(BUILD)/check_cpu $(corpus-ptx)
	$(run-suite)
# The same on the libcuda.so.1 that there is, which should be NVIDIA's; `make gpu-report` has it too.
.PHONY: check-driver
check-driver: $(patsubst %,check-driver-%,$(SUITES_driver)) ## what tests of the CPU device NVIDIA's driver can run
check-driver-%: $(BUILD)/check_driver $(corpus-ptx)
	@$(nvrtc) CK_RUN_SUITE=$* $<
.PHONY: check-large
check-large: $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so lib ## arrays beyond 2^32 elements: 14 GB, minutes
	@$(nvrtc) $(test-cache) KUDZU_TEST_LARGE=1 CK_RUN_SUITE=large CK_VERBOSITY=verbose $<
# By hand: what code for older processors computes, those without FMA too.
.PHONY: check-features
LEVELS ?= sse2 sse4 avx avx2
check-features: $(BUILD)/check_cpu $(corpus-ptx) ## what code for older processors computes: minutes
	@for level in $(LEVELS); do for suite in corpus forms half emit emit_wide ulp; do \
		echo "KUDZU_CPU_FEATURES=$$level"; $(nvrtc) $(patience) \
		KUDZU_TEST_BRIEF=1 KUDZU_CPU_FEATURES=$$level CK_RUN_SUITE=$$suite $< || exit 1; \
		done; done
check-samples: $(SAMPLES:%=check-sample-%)
check-pages: $(EXAMPLES:%=$(BUILD)/docs/examples/%) lib
	$(call step,$@,$(nvrtc) $(test-cache) $(patience) .ci/check-pages $(BUILD))
check-sample-%: $(BUILD)/samples/% lib
	$(call step,sample $*,$(nvrtc) $(test-cache) $(patience) .ci/check-sample $* $<)
check-layers:
	$(call step,$@,.ci/check-layers)
check-pycuda:
	$(call step,$@,.ci/check-pycuda)
CITIZEN := $(addprefix $(BUILD)/tests/citizen/,guest reload)
$(CITIZEN): $(BUILD)/tests/citizen/%: tests/citizen/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample) -ldl
check-citizen: lib $(CITIZEN)
	$(call step,$@,$(nvrtc) tests/citizen/check $(BUILD))
check-ffi: lib
	$(call step,$@,$(nvrtc) $(test-cache) .ci/check-ffi $(BUILD))
$(BUILD)/docs/ptx: docs/ptx.c src/cpu/ptx/ptx.def $(BUILD)/config
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -o $@ $<
docs/ptx.md: $(BUILD)/docs/ptx FORCE
	$(call rewrite,$<)
check-ptx-md: $(BUILD)/docs/ptx
	$(call step,$@,{ $< | cmp - docs/ptx.md || { echo 'run: make docs/ptx.md'; false; }; })

# Not with a sanitizer, whose runtime these programs do not have.
# Programs linked with a libcuda.so.1 that has names only, as the toolkit's stub; matmul opens it.
DROPIN := $(addprefix $(BUILD)/tests/dropin/,vectoradd matmul query link)
$(BUILD)/tests/dropin/libcuda.so: tests/dropin/stub.c src/cpu/abi/exports.def $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) && $(CC) -shared -fPIC -w -iquote src -Wl,-soname,libcuda.so.1 -o $@ $<
$(DROPIN): $(BUILD)/tests/dropin/%: tests/dropin/%.c tests/dropin/driver.h \
		$(BUILD)/tests/dropin/libcuda.so $(BUILD)/cuda.flags
	$(call say,CC)$(CC) -std=gnu11 -Wall -Wextra @$(BUILD)/cuda.flags -o $@ $< \
		$(if $(filter %/matmul,$@),-ldl,-L$(@D) -lcuda)
check-dropin: all $(DROPIN) $(BUILD)/check_driver
	$(call step,$@,tests/dropin/check $(BUILD))
	@CK_RUN_SUITE=syntax $(BUILD)/kudzu cpu -- $(BUILD)/check_driver

suites = $(wildcard $(foreach s,$(SUITES_$1) $(HAND_$1),tests/*/test_$s.c tests/cpu/*/test_$s.c)) $(SUPPORT_$1)
runner = $(call objects,$(call suites,$1) $2) $(BUILD)/tests/main_$1.o
$(BUILD)/tests/%.o: private EXTRA = @$(BUILD)/cuda.flags -DKZ_TEST_BUILD='"$(abspath $(BUILD))"' \
	-DKZ_TEST_DIR='"$(CURDIR)/tests"' -DKZ_TEST_PTX='"$(abspath $(PTX))"' \
	$$(pkg-config --cflags check)
$(call objects,$(call suites,kudzu) $(call suites,cpu) $(call suites,driver) $(STUB) tests/tools/compile_ptx.c \
		$(wildcard tests/fuzz/*.c)): \
		$(BUILD)/cuda.flags
$(BUILD)/tests/main_%.o: tests/main.c $(BUILD)/config $(BUILD)/cuda.flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -DSUITES='$(patsubst %,X(%),$(SUITES_$*) $(HAND_$*))' -c -o $@ $<
# The runners hold the library's objects, not the library: tests see what is inside.
# Those of tests/support/calls.c stand before the C library's.
WRAPPED := openat fstat fstatat readv writev pread pwrite close fcntl mkdirat unlinkat renameat \
	futimens dup3 fdopendir readdir
$(BUILD)/check_kudzu: $(call runner,kudzu,$(LIB))
	$(call say,LD)$(LINK) $(WRAPPED:%=-Wl,--wrap=%) -o $@ $^ $(CHECK_LIBS) $(LIBS)
$(BUILD)/check_cpu: $(call runner,cpu,$(CPU_ALL)) $(BUILD)/llvm.libs
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) @$(BUILD)/llvm.libs \
		$(CHECK_LIBS) $(LIBS)
# As a user's program, linked with names alone: it runs on the libcuda.so.1 that there is.
$(BUILD)/check_driver: $(call runner,driver,$(BASE) src/cpu/ptx/ptx.c) $(BUILD)/tests/dropin/libcuda.so
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD)/tests/dropin -lcuda $(CHECK_LIBS) $(LIBS)
$(BUILD)/libcuda-stub.so: $(call objects,$(STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^

# The CUDA sources of the tests as PTX: NVRTC takes a second for some, and the runner has none.
# Only changed sources are compiled again, and once for all modes.
$(BUILD)/compile_ptx: $(call objects,tests/tools/compile_ptx.c $(LIB))
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)
define ptx-rule
$(PTX)/%.$1.ptx: tests/data/cuda/%.cu | $(BUILD)/compile_ptx
	@mkdir -p $$(@D)
	$$(call say,PTX)$$(nvrtc) $(BUILD)/compile_ptx $$< compute_$1 $$@.$(MODE) \
		--fmad=false --device-int128 $$(PTX_$$*) && mv $$@.$(MODE) $$@
endef
$(foreach a,$(CORPUS_ARCHS),$(eval $(call ptx-rule,$a)))
.SECONDARY: $(corpus-ptx)

# --- Checks for developers -----------------------------------------------------------------------

# .ci/run has done the first one: DONE=check.
STEPS = $(filter-out $(DONE),check) check-clang check-asan check-tsan check-nocpu check-llvm14 lint \
	check-headers check-docs check-symbols check-instructions check-install
.PHONY: check-all $(STEPS) check-ubsan check-fresh check-abi check-reproducible
check-all: ## all of the checks below but check-fresh, -abi, -reproducible
	@failed=; for step in $(STEPS); do echo "==== $$step"; from=$$(date +%s); \
		$(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
		echo "==== $$step: $$(($$(date +%s) - from)) s"; \
	done; if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi
check-clang: ## all of it built with clang, and the samples run; `make check CC=clang` is the rest
	@$(MAKE) --no-print-directory all check-samples CC=clang BUILD=build/clang
check-asan check-ubsan check-tsan: check-%: ## the tests under a sanitizer (asan: and ubsan)
	@$(MAKE) --no-print-directory check MODE=$* BUILD=build/$*
check-nocpu: ## the build without LLVM
	@$(MAKE) --no-print-directory all check-symbols CPU=0 BUILD=build/nocpu
# Those of what LLVM makes; the rest does not depend on it.
LLVM_SUITES := $(filter-out emit_size,$(filter emit% corpus forms half mma kept features,$(SUITES_cpu)))
check-llvm14: ## the tests of the CPU device with the oldest LLVM, where it is installed
	@command -v llvm-config-14 >/dev/null || { echo 'LLVM 14 is not installed'; exit 0; }; \
	[ "$$(.ci/find-llvm)" != llvm-config-14 ] || { echo 'LLVM 14 is what all is built with'; exit 0; }; \
	$(MAKE) --no-print-directory check-cpu LLVM_CONFIG=llvm-config-14 BUILD=build/llvm14 \
		SKIP='$(filter-out $(LLVM_SUITES),$(SUITES_cpu))'
.PHONY: docs
doxygen = mkdir -p $(BUILD)/docs && { cat docs/Doxyfile; echo OUTPUT_DIRECTORY=$(BUILD)/docs; \
	echo $1; } | doxygen -
docs: ## the reference of the API as pages, by Doxygen
	$(call say,DOXYGEN)$(call doxygen) && echo '$(BUILD)/docs/html/index.html'
check-docs: ## everything public is documented: Doxygen has no warning
	$(call step,$@,$(call doxygen,WARN_AS_ERROR=FAIL_ON_WARNINGS))
check-headers: ## each public header alone, C11 and C++17, with every compiler there is
	$(call step,$@,.ci/check-headers)
check-instructions: all $(BUILD)/bench/bench_host $(BUILD)/libcuda-stub.so ## what calls cost in instructions, against a baseline
	$(call step,$@,$(nvrtc) $(test-cache) bench/instructions.sh $(abspath $(BUILD)))
check-symbols: lib ## the libraries export what they should, nothing else
	$(call step,$@,.ci/check-symbols $(BUILD))
check-install: all ## install, build programs against it, run them without the build, uninstall
	$(call step,$@,MAKE='$(MAKE)' CC='$(CC)' $(nvrtc) tests/install/check $(BUILD)/install $(if $(filter release,$(MODE)),$(BUILD)))
check-abi: lib ## programs of the last tag still run (abidiff; builds the tag)
	$(call step,$@,MAKE='$(MAKE)' CC='$(CC)' .ci/check-abi $(BUILD))
check-reproducible: ## two builds in different folders give the same bytes
	$(call step,$@,MAKE='$(MAKE)' .ci/check-reproducible)
check-fresh: ## make setup run check in a new bare Debian 12 (root, debootstrap, network)
	@.ci/check-fresh

.PHONY: lint-c lint-shell
# How far the analyzer follows the paths of a function: by default 225,000 steps, which take five
# times as long as these; `make lint LINT_STEPS=225000` before a release.
LINT_STEPS ?= 40000
lint: lint-c lint-shell ## clang-tidy (functions to 80 lines, and bugs) and shellcheck
lint-c: $(patsubst %,lint/%,$(sort $(LIB) $(CPU_ALL) $(CLI)))
	@echo 'PASS: $@'
lint/%.c: $(BUILD)/llvm.flags $(BUILD)/folders.flags
	$(call say,LINT)cat $^ | xargs clang-tidy --quiet $*.c -- -std=gnu11 -Iinclude -iquote src \
		-Xclang -analyzer-config -Xclang max-nodes=$(LINT_STEPS) 2>/dev/null
lint-shell:
	$(call step,$@,shellcheck $(filter-out %.txt,$(wildcard .ci/*)) tests/install/check tests/dropin/check tests/citizen/check $(wildcard tests/cli/*) $(wildcard bench/*.sh tests/samples/*.sh))

# Random programs for as long as one likes; SECONDS is how many, SEED where to begin.
.PHONY: fuzz-diff
SECONDS ?= 3600
fuzz-diff: $(BUILD)/fuzz_diff ## random programs for SECONDS=3600, from SEED= on
	@$(nvrtc) $< $(SECONDS) $(SEED)
$(BUILD)/fuzz_diff: $(call objects,tests/fuzz/fuzz_diff.c tests/cpu/support/driver_ours.c $(GENERATOR) $(CPU_ALL)) \
		$(BUILD)/llvm.libs
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) @$(BUILD)/llvm.libs $(CHECK_LIBS) $(LIBS)

# The same on the libcuda.so.1 that there is.
$(BUILD)/fuzz_driver: $(call objects,tests/fuzz/fuzz_diff.c tests/cpu/support/driver_other.c $(GENERATOR) $(BASE)) \
		$(BUILD)/tests/dropin/libcuda.so
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) -L$(BUILD)/tests/dropin -lcuda $(CHECK_LIBS) $(LIBS)

# Which instructions those programs have, without running them.
.PHONY: fuzz-count
fuzz-count: $(BUILD)/fuzz_count
	@$< 1000 $(SEED)
$(BUILD)/fuzz_count: $(call objects,tests/fuzz/fuzz_count.c tests/cpu/support/driver_ours.c $(GENERATOR) $(CPU_ALL)) \
		$(BUILD)/llvm.libs
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) @$(BUILD)/llvm.libs $(CHECK_LIBS) $(LIBS)

# Any bytes through the stages that read PTX, and through images and the linker, beginning with the
# samples; needs clang's libFuzzer.
.PHONY: fuzz-ptx fuzz-image fuzz-npy fuzz-eval fuzz-args fuzz-pack \
	fuzz-bundle fuzz-argument
fuzz-stages := $(BASE) $(filter src/cpu/ptx/% src/cpu/ir/%,$(CPU_DRIVER))
libfuzzer = $1 -max_total_time=$(SECONDS) -rss_limit_mb=4000 -timeout=60 -max_len=20000 \
	-artifact_prefix=$(BUILD)/ $2
fuzz-ptx: $(BUILD)/fuzz_ptx ## any bytes as PTX for SECONDS=3600 under libFuzzer (clang)
	@mkdir -p $(BUILD)/corpus && for sample in tests/data/ptx/*/*/input.ptx $(wildcard $(PTX)/*.ptx); \
	do cp $$sample $(BUILD)/corpus/$$(echo $$sample | tr / _); done
	$(call libfuzzer,$<,$(BUILD)/corpus)
fuzz-image: $(BUILD)/fuzz_image ## any bytes as fat binaries and to link, likewise
	@mkdir -p $(BUILD)/images && for sample in tests/data/fatbin/*.fatbin; \
	do { printf '\0'; cat $$sample; } >$(BUILD)/images/$$(echo $$sample | tr / _); done
	@for sample in tests/data/ptx/valid/*/input.ptx; \
	do name=$(BUILD)/images/$$(echo $$sample | tr / _); { printf '\2'; cat $$sample; } >$$name.one; \
	{ printf '\3'; cat $$sample; printf '\37'; cat $$sample; } >$$name.two; done
	$(call libfuzzer,$<,$(BUILD)/images)
fuzz-npy: $(BUILD)/fuzz_npy $(BUILD)/libcuda-stub.so ## any bytes as .npy and .npz files, likewise
	@mkdir -p $(BUILD)/npy && cp tests/data/npy/* $(BUILD)/npy
	KUDZU_CUDA_DRIVER=$(BUILD)/libcuda-stub.so $(call libfuzzer,$<,$(BUILD)/npy)
$(BUILD)/fuzz_npy: tests/fuzz/fuzz_npy.c $(LIB) $(BUILD)/folders.flags
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests \
		@$(BUILD)/folders.flags -o $@ $(filter %.c,$^) $(LIBS)
fuzz-eval: $(BUILD)/fuzz_eval ## any bytes as expressions, likewise
	@mkdir -p $(BUILD)/expressions && sed -n 's/^\t{"\([^"]*\)", .*/\1/p' tests/ops/test_eval_parse.c | \
	while IFS= read -r text; do name=$$(printf %s "$$text" | cksum | cut -d' ' -f1); \
	printf ' %s' "$$text" >$(BUILD)/expressions/$$name; done
	$(call libfuzzer,$<,$(BUILD)/expressions)
$(BUILD)/fuzz_eval: tests/fuzz/fuzz_eval.c $(BASE) src/core/dtype.c src/array/shape.c $(addprefix src/ops/,promote.c expr.c eval_lex.c eval_parse.c)
	@mkdir -p $(@D)
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests -o $@ $^ -ldl
fuzz-args: $(BUILD)/fuzz_args ## any bytes as argument lists of users' kernels, likewise
	@mkdir -p $(BUILD)/lists && printf 'float a, raw const int *x' >$(BUILD)/lists/1 && \
	printf 'pair<int, float> *p,\n pycuda::complex<double> c, unsigned long k' >$(BUILD)/lists/2
	$(call libfuzzer,$<,$(BUILD)/lists)
$(BUILD)/fuzz_args: tests/fuzz/fuzz_args.c $(BASE) $(addprefix src/,drv/codes.c rtc/diag.c rtc/hints.c rtc/blame.c rtc/headers.c \
		core/error_value.c core/dtype.c ops/declare.c)
	@mkdir -p $(@D)
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests -o $@ $^ -ldl
fuzz-argument: $(BUILD)/fuzz_argument ## any bytes as arguments of `kudzu run`, likewise
	@mkdir -p $(BUILD)/words && sed -n 's/^\t{"\([^"]*\)", .*/\1/p' tests/cli/test_argument.c | \
	while IFS= read -r text; do name=$$(printf %s "$$text" | cksum | cut -d' ' -f1); \
	printf '%s' "$$text" >$(BUILD)/words/$$name; done; \
	printf 'k(float *, int)\n__global__ void k(float *x, int n) {}' >$(BUILD)/words/kernel
	$(call libfuzzer,$<,$(BUILD)/words)
$(BUILD)/fuzz_argument: tests/fuzz/fuzz_argument.c $(BASE) $(addprefix src/,drv/codes.c core/error_value.c core/dtype.c \
		cli/numeral.c cli/argument.c cli/parameters.c)
	@mkdir -p $(@D)
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests -o $@ $^ -ldl
fuzz-pack: $(BUILD)/fuzz_pack ## any bytes as packed images, likewise
	@mkdir -p $(BUILD)/packed
	$(call libfuzzer,$<,$(BUILD)/packed)
$(BUILD)/fuzz_pack: tests/fuzz/fuzz_pack.c $(BASE) src/cache/pack.c $(addprefix src/rtc/,rtc_image.c image_ptx.c image_cubin.c \
		cubin.c elf.c ptx_text.c variable.c signature.c demangle.c type.c) src/core/error_value.c src/drv/codes.c
	@mkdir -p $(@D)
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests -o $@ $^ -ldl
fuzz-bundle: $(BUILD)/fuzz_bundle $(BUILD)/samples/11_bundle ## any bytes as bundles and to link, likewise
	@mkdir -p $(BUILD)/bundles && cp tests/data/fatbin/* $(BUILD)/bundles && \
	ar rc $(BUILD)/bundles/library.a tests/data/fatbin/*.obj tests/data/ptx/valid/*/input.ptx && \
	$(nvrtc) $(BUILD)/samples/11_bundle write $(BUILD)/bundles/sample
	$(call libfuzzer,$<,$(BUILD)/bundles)
$(BUILD)/fuzz_bundle: tests/fuzz/fuzz_bundle.c $(LIB) $(BUILD)/folders.flags
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests \
		@$(BUILD)/folders.flags -o $@ $(filter %.c,$^) $(LIBS)
$(BUILD)/fuzz_ptx $(BUILD)/fuzz_image: $(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c $(fuzz-stages)
	@mkdir -p $(@D)
	$(call say,CC)clang -std=gnu11 -g -O1 -fsanitize=fuzzer,address,undefined -Iinclude -iquote src -iquote tests -o $@ $^ -ldl

# --- Measuring -----------------------------------------------------------------------------------

bench-programs := $(BENCHES:%=$(BUILD)/bench/%)
.PHONY: bench bench-cpu gpu-report
bench: all $(bench-programs) $(BUILD)/libcuda-stub.so ## the benchmarks that need no GPU: tables, and JSON lines in BUILD/bench.ndjson
	@$(nvrtc) KUDZU_CACHE=0 bench/run.sh $(BUILD) >$(BUILD)/bench.ndjson
	@bench/table.sh $(BUILD)/bench.ndjson
bench-cpu: all $(addprefix $(BUILD)/bench/bench_,cpu latency launch pool cold compile nvcc modules) $(BUILD)/libcuda-stub.so ## those that the README shows, in minutes
	@$(nvrtc) KUDZU_CACHE=0 bench/run.sh $(BUILD) cpu >$(BUILD)/bench-cpu.ndjson
	@bench/table.sh $(BUILD)/bench-cpu.ndjson
gpu-report: all $(sample-programs) $(bench-programs) $(addprefix $(BUILD)/,check_kudzu check_driver suites libcuda-stub.so) \
		$(DROPIN) $(corpus-ptx) ## tests, compute-sanitizer and benchmarks on a GPU
	@$(nvrtc) bench/gpu_report.sh $(BUILD)
# Its script has no make to ask.
$(BUILD)/suites: $(BUILD)/config
	@printf 'library %s\n' $(SUITES_kudzu) >$@ && printf 'driver %s\n' $(SUITES_driver) >>$@

# --- Installing ----------------------------------------------------------------------------------

LINKS := $(LIBDIR)/libkudzu.so $(LIBDIR)/libkudzu.so.$(SOVERSION)
LIBRARIES := libkudzu.so.$(VERSION) libkudzu.a $(cpu-driver)
PKGCONFIG := kudzu.pc kudzu-static.pc
CMAKE := kudzuConfig.cmake kudzuConfigVersion.cmake
# Where shells look for them.
COMPLETIONS := $(addprefix $(DATADIR)/,bash-completion/completions/kudzu zsh/site-functions/_kudzu \
	fish/vendor_completions.d/kudzu.fish)
INSTALLED := $(BINDIR)/kudzu $(MANDIR)/man1/kudzu.1 $(MANDIR)/man3/kudzu.3 $(COMPLETIONS) $(LINKS) \
	$(addprefix $(LIBDIR)/,$(LIBRARIES) $(cpu-names) $(addprefix pkgconfig/,$(PKGCONFIG)) \
		$(addprefix cmake/kudzu/,$(CMAKE))) \
	$(addprefix $(INCLUDEDIR)/,$(HEADERS:include/%=%))

# The CMake file finds the others from where it is itself.
$(addprefix $(BUILD)/,$(PKGCONFIG) $(CMAKE)): $(BUILD)/%: packaging/%.in FORCE
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@SOVERSION@|$(SOVERSION)|' -e 's|@MAJOR@|$(MAJOR)|' -e 's|@MINOR@|$(MINOR)|' \
		-e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e "s|@LIBDIR_TO_INCLUDEDIR@|$$(realpath -m --relative-to=$(LIBDIR) $(INCLUDEDIR))|" \
		$< >$@
ldconfig = $(if $(DESTDIR),,@if [ "$$(id -u)" = 0 ]; then /sbin/ldconfig; fi)
install: all $(addprefix $(BUILD)/,$(PKGCONFIG) $(CMAKE)) ## install into PREFIX, below DESTDIR
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/kudzu \
		$(INCLUDEDIR)/kudzu $(MANDIR)/man1 $(MANDIR)/man3)
	install $(BUILD)/kudzu $(DESTDIR)$(BINDIR)
	install -m 644 $(addprefix $(BUILD)/,$(LIBRARIES)) $(DESTDIR)$(LIBDIR)
	for link in $(LINKS); do ln -sf libkudzu.so.$(VERSION) $(DESTDIR)$$link || exit 1; done
	$(if $(cpu-driver),install -d $(DESTDIR)$(LIBDIR)/kudzu-cpu)
	for name in $(cpu-names); do \
		ln -sf ../libkudzu-cpu.so $(DESTDIR)$(LIBDIR)/$$name || exit 1; done
	install -m 644 $(addprefix $(BUILD)/,$(PKGCONFIG)) $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(addprefix $(BUILD)/,$(CMAKE)) $(DESTDIR)$(LIBDIR)/cmake/kudzu
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/kudzu
	install -m 644 docs/kudzu.1 $(DESTDIR)$(MANDIR)/man1
	install -m 644 docs/kudzu.3 $(DESTDIR)$(MANDIR)/man3
	set -- $(addprefix $(DESTDIR),$(COMPLETIONS)) && \
	install -D -m 644 completions/kudzu.bash $$1 && \
	install -D -m 644 completions/_kudzu $$2 && install -D -m 644 completions/kudzu.fish $$3
	$(ldconfig)
dist: ## the sources as build/kudzu-VERSION.tar.gz, from git
	@mkdir -p build
	git archive --format=tar --prefix=kudzu-$(VERSION)/ HEAD | gzip -n9 >build/kudzu-$(VERSION).tar.gz
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	for folder in $(INCLUDEDIR)/kudzu $(LIBDIR)/kudzu-cpu $(LIBDIR)/cmake/kudzu; do \
		[ ! -d $(DESTDIR)$$folder ] || rmdir $(DESTDIR)$$folder; done
	$(ldconfig)
clean: ## remove what was built (build/nvrtc, the wheels, stays)
	rm -rf $(filter-out build/nvrtc,$(wildcard build/*)) $(BUILD)

-include $(patsubst %.c,$(BUILD)/%.d,$(LIB) $(CPU_ALL) $(CLI) $(STUB) \
	$(call suites,kudzu) $(call suites,cpu) $(call suites,driver) tests/tools/compile_ptx.c tests/main_kudzu.c tests/main_cpu.c $(wildcard tests/fuzz/*.c))
-include $(addsuffix .d,$(sample-programs) $(bench-programs) $(CITIZEN) $(EXAMPLES:%=$(BUILD)/docs/examples/%))

endif

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\)[ :].*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16
	@echo 'V=1 shows commands.  MODE=debug|release|asan|ubsan|tsan, CPU=0 (no LLVM), LLVM_CONFIG=,'
	@echo 'LLVM_LINK=static|shared (of libkudzu-cpu-llvm.so; static needs the archives of LLVM and libstdc++),'
	@echo 'CC=, CPPFLAGS=, CFLAGS=, LDFLAGS=, BUILD= (now $(BUILD)),'
	@echo 'PREFIX= (now $(PREFIX)), LIBDIR=, INCLUDEDIR=, BINDIR=, MANDIR=, DATADIR=, DESTDIR=.'
