# SPDX-License-Identifier: MIT
#
# Building and running the tests, and the checks for developers.
#
# A suite NAME is the file test_NAME.c in some folder of tests, which mirror src.  There are three
# runners: check_kudzu has the suites of the library and the command, check_cpu those of the CPU
# device, check_driver those of the latter that run on any CUDA driver.  The first two hold the
# objects of the libraries, not the libraries: tests see what is inside.  A fourth, check_text, has
# the suites of the CPU device that need no LLVM.

# --- What there is -------------------------------------------------------------------------------

tests-kudzu := $(wildcard $(patsubst %,tests/%/*.c,$(call folders-of,kudzu) $(call folders-of,command) whole))
tests-cpu := $(filter-out tests/cpu/driver/%,$(wildcard tests/cpu/*/*.c))
suites-in = $(patsubst test_%.c,%,$(filter test_%.c,$(notdir $1)))
# Run by hand.
SUITES_hand := large
SUITES_kudzu := $(filter-out $(SUITES_hand),$(call suites-in,$(tests-kudzu)))
SUITES_cpu := $(call suites-in,$(tests-cpu))
# Compiled kernels are nothing that tsan sees, nor are the values of one thread.
kernel-suites := ulp emit_size forms half fuzz_diff corpus ops shortcut eval_values eval_chain reduce_random pycuda \
	pycuda_views matmul scan view_random transpose custom_shape promote libraries hints \
	integrate network einsum products random matrix own \
	sort choice search scatter segmented fft sparse sets std
# In these folders tsan sees nothing new in a suite without threads of its own.
tsan-folders := whole $(addprefix lib/,array ops comm linalg fft order sparse random rtc) \
	$(addprefix cpu/,ptx ir codegen passes)
SKIP_tsan = $(kernel-suites) $(call suites-in,$(shell grep -L pthread_create $(wildcard $(tsan-folders:%=tests/%/*.c)))) \
	texture eval hash store_calls store_owner pack key pch rtc_compile diagnostic layout inspect bundle load \
	image_link codes abi args dtype
SKIP ?= $(SKIP_$(MODE))
# All but SKIP, or of them SUITES.
chosen = $(filter-out $(SKIP),$(if $(SUITES),$(filter $(SUITES),$1),$1))
# Suites that are left out are not compiled.  A single SUITE is chosen among all, so that the next one
# needs no other runner.
left-out := $(if $(SUITE),,$(filter-out $(call chosen,$(SUITES_kudzu) $(SUITES_cpu)),$(SUITES_kudzu) $(SUITES_cpu)))
in-runner = $(filter-out $(foreach suite,$(left-out),%/test_$(suite).c),$1)
# Of the CUDA runtime of ours, with both of its libraries.
tests-cudart := $(wildcard tests/cudart/*.c)
SUITES_cudart := $(if $(cudart),$(call suites-in,$(tests-cudart)))
# What no GPU can change.
SUITES_host := $(call suites-in,$(wildcard $(patsubst %,tests/%/*.c,base lib/cuda lib/rtc lib/cache cli))) dtype mempool_model \
	args layout shape overlap declare eval_parse promote failures refusals
# What kernels compute, by the driver API alone: for NVIDIA's driver too.
SUITES_driver := emit emit_warp emit_video emit_vector emit_local emit_serial emit_atom emit_warps emit_cmp \
	induction half forms ulp mma corpus syntax
tests-driver := $(sort $(wildcard $(SUITES_driver:%=tests/cpu/*/test_%.c) \
	$(patsubst %,tests/cpu/%/*.c,random forms corpus driver)))
# Those that run the CUDA sources of tests/data/cuda, which NVRTC has to compile first.
SUITES_corpus := corpus forms late_kernels
# Random programs, and what runs and compares them.
GENERATOR := $(wildcard tests/cpu/random/*.c) $(patsubst %,src/lib/rtc/%.c,find nvrtc cuda_headers thread)
# Parts of the command that suites test.
COMMAND_PARTS := $(patsubst %,src/cli/%.c,numeral argument parameters picture png progress report)
STUB := $(wildcard tests/stub/*.c)
# cuBLAS and cuSOLVER on the CPU device, by the BLAS and LAPACK that Kudzu finds.
CUBLAS_STUB := $(wildcard tests/stub/cublas/*.c) src/lib/linalg/host_library.c $(SOURCES_base)
# cuFFT there, by the definition.
CUFFT_STUB := $(wildcard tests/stub/cufft/*.c)
NCCL_STUB := $(wildcard tests/stub/nccl/*.c)

# tests/data/cuda/NAME.cu, compiled for each of these architectures, once for all modes.
PTX := build/ptx
CORPUS := $(patsubst tests/data/cuda/%.cu,%,$(wildcard tests/data/cuda/*.cu))
PTX_29_cdp := --relocatable-device-code=true
CORPUS_ARCHS := 75 80 90 100
corpus-ptx := $(foreach arch,$(CORPUS_ARCHS),$(CORPUS:%=$(PTX)/%.$(arch).ptx))

# --- Building ------------------------------------------------------------------------------------

# To carry the tests to a machine without Check: CHECK_LIBS='-l:libcheck.a -lsubunit -lrt -lm'.
CHECK_LIBS = $$(pkg-config --libs check)
# tests/main.c has one that does not write to a file at each assertion.
link-runner = $(call say,LD)$(LINK) -Wl,--wrap=_mark_point -o $@ $(filter %.o %.a,$^)

# Without optimization tests compile four times as fast and run about as long, since most of their time is spent in
# the library.
test-flags = -O0 -iquote tests @$(BUILD)/cuda.flags \
	-DKZ_TEST_BUILD='"$(abspath $(BUILD))"' -DKZ_TEST_DIR='"$(CURDIR)/tests"' \
	-DKZ_TEST_PTX='"$(abspath $(PTX))"' $(if $(filter release,$(MODE)),-DKZ_TEST_RELEASE) \
	$$(pkg-config --cflags check)
$(BUILD)/tests/%.o: private EXTRA = $(test-flags)
$(BUILD)/cudart12/tests/%.o: private EXTRA = $(test-flags) -DKZ_CUDART=12
$(call objects,$(wildcard tests/*.c tests/*/*.c tests/*/*/*.c)): $(BUILD)/cuda.flags
$(patsubst %.c,$(BUILD)/cudart12/%.o,$(tests-cudart) tests/cudart/plugin/plugin.c): $(BUILD)/cuda.flags

# What suites share; a runner takes of it what it uses.
$(BUILD)/tests/support.a: $(call objects,$(wildcard tests/support/*.c))
	@rm -f $@ && $(AR) rcsD $@ $^
run-needs = $(call objects,tests/main.c $1) $(BUILD)/tests/support.a
# Those of tests/base/calls.c stand before the C library's.
WRAPPED := openat fstat fstatat preadv writev pread pwrite close fcntl mkdirat unlinkat renameat \
	futimens fdopendir readdir
run-kudzu := $(call in-runner,$(tests-kudzu))
run-cpu := $(call in-runner,$(tests-cpu))
SOURCES_check_kudzu := $(run-kudzu) $(COMMAND_PARTS) $(SOURCES_kudzu)
SOURCES_check_cpu := $(run-cpu) $(filter src/lib/rtc/%,$(GENERATOR)) $(SOURCES_device)
SOURCES_check_driver := $(tests-driver) $(filter src/lib/rtc/%,$(GENERATOR)) src/cpu/ptx/ptx.c $(SOURCES_base)
$(BUILD)/check_kudzu: $(call run-needs,$(run-kudzu) $(COMMAND_PARTS)) $(BUILD)/kudzu.o $(BUILD)/check_kudzu.sources
	$(link-runner) $(WRAPPED:%=-Wl,--wrap=%) $(CHECK_LIBS) $(LIBS)
$(BUILD)/check_cpu: $(call run-needs,$(SOURCES_check_cpu)) $(BUILD)/check_cpu.sources $(BUILD)/llvm.part
	$(link-runner) -Wl,--wrap=__cxa_atexit @$(BUILD)/llvm.part $(CHECK_LIBS) $(LIBS)
# For processors that it is cross-built for (docs/dev/porting.md).
tests-text := $(filter-out %/test_syntax.c %/test_flat_stack.c %/test_hostile.c,\
	$(wildcard tests/cpu/ptx/*.c tests/cpu/ir/*.c))
$(BUILD)/text.a: $(call objects,$(wildcard tests/cpu/support/*.c) \
		$(call sources-in,base cpu/config cpu/ptx cpu/ir))
	@rm -f $@ && $(AR) rcsD $@ $^
$(BUILD)/check_text: $(call run-needs,$(tests-text)) $(BUILD)/text.a
	$(link-runner) $(CHECK_LIBS) $(LIBS)
# As a user's program, linked with names alone: it runs on the libcuda.so.1 that there is.
$(BUILD)/check_driver: $(call run-needs,$(SOURCES_check_driver)) $(BUILD)/check_driver.sources \
		$(BUILD)/kudzu-cpu/stubs/libcuda.so
	$(link-runner) -L$(BUILD)/kudzu-cpu/stubs -lcuda $(CHECK_LIBS) $(LIBS)
# As a user's programs, linked with the runtime; the driver is what LD_LIBRARY_PATH has.
SOURCES_check_cudart := $(tests-cudart) $(SOURCES_base)
$(BUILD)/check_cudart13: $(call run-needs,$(tests-cudart) $(SOURCES_base)) $(BUILD)/check_cudart.sources \
		$(BUILD)/kudzu-cpu/libcudart.so.13
	$(link-runner) $(BUILD)/kudzu-cpu/libcudart.so.13 $(CHECK_LIBS) $(LIBS)
$(BUILD)/check_cudart12: $(call run-needs,$(SOURCES_base)) $(patsubst %.c,$(BUILD)/cudart12/%.o,$(tests-cudart)) \
		$(BUILD)/check_cudart.sources $(BUILD)/kudzu-cpu/libcudart.so.12
	$(link-runner) $(BUILD)/kudzu-cpu/libcudart.so.12 $(CHECK_LIBS) $(LIBS)
# Libraries with kernels, which a suite loads.
plugin-sources := tests/cudart/plugin/plugin.c tests/cudart/program.c
plugins := $(BUILD)/plugin12.so $(BUILD)/plugin13.so
$(BUILD)/plugin13.so: $(call objects,$(plugin-sources)) $(BUILD)/kudzu-cpu/libcudart.so.13
	$(call say,LD)$(LINK) -shared -o $@ $^
$(BUILD)/plugin12.so: $(plugin-sources:%.c=$(BUILD)/cudart12/%.o) $(BUILD)/kudzu-cpu/libcudart.so.12
	$(call say,LD)$(LINK) -shared -o $@ $^
$(BUILD)/libcuda-stub.so: $(call objects,$(STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^

$(BUILD)/libcublas-stub.so: $(call objects,$(CUBLAS_STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(LIBS)

$(BUILD)/libcufft-stub.so: $(call objects,$(CUFFT_STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^ $(LIBS)

$(BUILD)/libnccl-stub.so: $(call objects,$(NCCL_STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^

$(BUILD)/compile_ptx: $(call objects,tests/tools/compile_ptx.c $(SOURCES_kudzu))
	$(call say,LD)$(LINK) -o $@ $^ $(LIBS)
define ptx-rule
$(PTX)/%.$1.ptx: tests/data/cuda/%.cu | $(BUILD)/compile_ptx
	@mkdir -p $$(@D)
	$$(call say,PTX)$$(nvrtc) $(BUILD)/compile_ptx $$< compute_$1 $$@.$(MODE) \
		--fmad=false --device-int128 $$(PTX_$$*) && mv $$@.$(MODE) $$@
endef
$(foreach a,$(CORPUS_ARCHS),$(eval $(call ptx-rule,$a)))
.SECONDARY: $(corpus-ptx)

# Programs linked with the libcuda.so that has names only; matmul opens libcuda.so.1, and monitor
# libnvidia-ml.so.1, too.
DROPIN := $(addprefix $(BUILD)/tests/dropin/,vectoradd matmul query link jitlink monitor)
# An NVRTC that compiles nothing, and an nvJitLink, and programs that ask the former: by any name, and
# linked with it by a path that they have in themselves.
FAKE := $(BUILD)/tests/dropin/nvrtc/libnvrtc.so.13
FAKE_LINKER := $(BUILD)/tests/dropin/nvrtc/libnvJitLink.so.13
ASK := $(addprefix $(BUILD)/tests/dropin/,ask_nvrtc ask_linked)
$(FAKE): tests/dropin/fake_nvrtc.c
$(FAKE_LINKER): tests/dropin/fake_nvjitlink.c
$(FAKE) $(FAKE_LINKER): $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -O1 -shared -fPIC \
		-Wl,-soname,$(@F) -o $@ $(filter %.c,$^) && ln -sf $(@F) $(@:.13=)
$(ASK): $(BUILD)/tests/dropin/ask_%: tests/dropin/ask_nvrtc.c $(FAKE)
	$(call say,CC)$(CC) -std=gnu11 -Wall -Wextra -o $@ $< $(ask-link) -ldl
$(BUILD)/tests/dropin/ask_linked: private ask-link = -Wl,--no-as-needed $(FAKE) \
	-Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/nvrtc'
# A BLAS and LAPACK, and a cuFFT, with two functions.
FEW := $(addprefix $(BUILD)/tests/dropin/,libfew_blas.so libfew_fft.so)
$(FEW): $(BUILD)/tests/dropin/lib%.so: tests/dropin/%.c $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -O1 -shared -fPIC -o $@ $<
# What `kudzu info` loads, in a folder of its own.
$(BUILD)/tests/nvml/libnvidia-ml.so.1: tests/dropin/nvml.c $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -O1 -shared -fPIC -o $@ $<
$(DROPIN): $(BUILD)/tests/dropin/%: tests/dropin/%.c tests/dropin/driver.h \
		$(BUILD)/kudzu-cpu/stubs/libcuda.so $(BUILD)/cuda.flags
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=gnu11 -Wall -Wextra @$(BUILD)/cuda.flags -o $@ $< \
		$(if $(filter %/matmul %/monitor,$@),,-L$(BUILD)/kudzu-cpu/stubs -lcuda) -ldl
# It has AddressSanitizer in plain builds, too.
HANDLES := $(BUILD)/tests/cxx/handles
$(HANDLES): tests/cxx/handles.cpp $(BUILD)/config $(BUILD)/libkudzu.so
	$(call say,CXX)mkdir -p $(@D); $(need-cxx) $(CXX) -std=c++17 -Wall -Wextra -Wshadow -pedantic \
		-Iinclude $(MODE_$(if $(plain),asan,$(MODE))) $(CPPFLAGS) $(CXXFLAGS) -MMD -MP -MF $@.d \
		-o $@ $< $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../..' -L$(BUILD) -lkudzu
CITIZEN := $(addprefix $(BUILD)/tests/citizen/,guest reload registers ends)
$(CITIZEN): $(BUILD)/tests/citizen/%: tests/citizen/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample) -ldl
$(BUILD)/tests/citizen/alarm.so: tests/citizen/alarm.c $(BUILD)/config
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -O1 -shared -fPIC -o $@ $<
$(BUILD)/tests/security/program: tests/security/program.c $(BUILD)/config $(BUILD)/libkudzu.a
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=c11 -Wall -Wextra -Iinclude $(MODE_$(MODE)) \
		-pthread -o $@ $< $(BUILD)/libkudzu.a $(LIBS)
$(BUILD)/docs/ptx: docs/ptx.c src/cpu/ptx/ptx.def $(BUILD)/config
$(BUILD)/docs/cudart: docs/cudart.c src/cudart/exports.def $(BUILD)/config
$(BUILD)/docs/ptx $(BUILD)/docs/cudart:
	$(call say,CC)mkdir -p $(@D) && $(COMPILE) -o $@ $<

# --- Running -------------------------------------------------------------------------------------

# $(call step,NAME,COMMAND): a check that is not a Check suite; .ci/totals counts these lines.
step = @if $2; then echo 'PASS: $1'; else echo 'FAIL: $1'; exit 1; fi
# What tests compile is kept beside them, for the next test: each is a process of its own.
# A test has ended before the second compilation of a long kernel could be of use to it; suite
# `tiers` is about that.
test-cache = KUDZU_CACHE="$${KUDZU_CACHE-1}" KUDZU_CACHE_DIR="$(abspath $(BUILD))/test-cache" \
	KUDZU_CPU_TIER="$${KUDZU_CPU_TIER-$(if $(filter asan ubsan tsan,$(MODE)),1,once)}"
retry = $(if $(filter asan,$(MODE)),.ci/run-tests)
# A test's own limit, which a busy machine must not reach.
export CK_DEFAULT_TIMEOUT ?= 180
export TSAN_OPTIONS ?= suppressions=$(abspath .ci/tsan.txt):allocator_may_return_null=1
patience = $(if $(filter asan ubsan tsan,$(MODE)),CK_TIMEOUT_MULTIPLIER=4 KUDZU_TEST_BRIEF=1)
# Less freed memory is held back, and fewer callers noted, than by default: in processes as short as
# tests that costs much, and finds no more.
asan-memory := quarantine_size_mb=16:malloc_context_size=10
# To find the thread-local memory of libraries, the leak sanitizer looks for a header that glibc has
# no more, and falls over what is there instead.  More memory than any machine has is NULL, as
# without it.
patience += $(if $(filter asan,$(MODE)),ASAN_OPTIONS="intercept_tls_get_addr=0:allocator_may_return_null=1:$(asan-memory):$$ASAN_OPTIONS")
# Some checks run in plain builds only: their programs do not have the runtime of a sanitizer.
plain := $(if $(filter release debug,$(MODE)),1)

.PHONY: check all-checks check-unit check-kudzu check-cpu check-cudart check-samples check-long
# Those of one process begin first, so that the suites fill all cores to the end.  The programs of
# samples and pages have one thread: tsan has nothing to find in them that suites lack.
checks := $(if $(plain),$(if $(cpu-driver),check-citizen check-security check-dropin $(if $(cudart),check-guests))) \
	check-cli check-pycuda check-ptx-md check-cudart-md check-env $(if $(filter tsan,$(MODE)),,check-pages) \
	$(if $(plain),check-layers check-names check-makefile check-ffi) $(if $(cpu-driver),check-cxx) \
	$(if $(filter tsan,$(MODE)),,check-samples) check-unit
# Without -j it starts itself with as many jobs as there are cores.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
check: ## run the tests, the samples, the README, on all cores
	+@$(MAKE) --no-print-directory $(jobs) all-checks
all-checks: $(checks)
# By hand: an hour of processor time.  Tests try all they know, kernels get their best code, and ulp takes every 1009th
# float.
check-long: ## the tests in their long form, of which `make check` tries a sample: an hour
	+@KUDZU_TEST_SLOW=1009 KUDZU_CPU_TIER= CK_DEFAULT_TIMEOUT=3600 CK_TIMEOUT_MULTIPLIER=20 \
		$(MAKE) --no-print-directory -k $(jobs) check-unit check-numpy check-random check-signals TIMES=1
check-unit: check-kudzu $(if $(cpu-driver),check-cpu) $(if $(cudart),check-cudart)
check-kudzu: $(patsubst %,check-kudzu-%,$(call chosen,$(SUITES_kudzu)))
check-cpu: $(patsubst %,check-cpu-%,$(call chosen,$(SUITES_cpu)))
check-cudart: $(patsubst %,check-cudart-%,$(call chosen,$(SUITES_cudart)))
# A suite at a time, so that -j runs several at once.
run-suite = @$(nvrtc) $(if $(filter check-kudzu-%,$@),$(test-cache)) $(patience) CK_RUN_SUITE=$* \
	$(if $(CASE),CK_RUN_CASE='$(CASE)') $(retry) $<
check-kudzu-%: $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so $(BUILD)/libcublas-stub.so \
		$(BUILD)/libcufft-stub.so $(BUILD)/libnccl-stub.so \
		$(BUILD)/kudzu-cpu/stubs/libcuda.so $(FEW) lib
	$(run-suite)
$(SUITES_corpus:%=check-cpu-%): $(corpus-ptx)
check-cpu-%: $(BUILD)/check_cpu
	$(run-suite)
check-cudart-%: $(BUILD)/check_cudart13 $(BUILD)/check_cudart12 $(plugins) lib
	@for runner in $(filter %/check_cudart13 %/check_cudart12,$^); do \
		$(test-cache) $(patience) LD_LIBRARY_PATH=$(abspath $(BUILD)/kudzu-cpu) CK_RUN_SUITE=$* \
		$(if $(CASE),CK_RUN_CASE='$(CASE)') $(retry) $$runner || exit 1; done

.PHONY: test golden
suite-runner := $(if $(filter $(SUITE),$(SUITES_cudart)),cudart)$(if $(filter $(SUITE),$(SUITES_cpu)),cpu,$(if $(filter $(SUITE),$(SUITES_kudzu) $(SUITES_hand)),kudzu))
test: $(if $(suite-runner),check-$(suite-runner)-$(SUITE)) ## one suite: make test SUITE=lex, of it CASE=tokens
	$(if $(suite-runner),,@echo 'unknown suite $(SUITE); the suites are: $(sort $(SUITES_kudzu) $(SUITES_cpu) $(SUITES_cudart))'; exit 1)
golden: $(BUILD)/check_cpu docs/ptx.md docs/cudart.md $(sample-programs) all ## write the expected files of tests anew: see git diff
	@KUDZU_GOLDEN=write CK_RUN_SUITE=check $<
	@for out in tests/samples/*.out; do name=$$(basename $$out .out); \
		$(nvrtc) $(test-cache) $(BUILD)/samples/$$name </dev/null >$$out.new && mv $$out.new $$out || exit 1; done
	@.ci/check-layers --write $(BUILD) $(LAYERS)
	@bench/table.sh -w README.md && bench/table.sh -w docs/performance.md

# The same on the libcuda.so.1 that there is, which should be NVIDIA's; `make gpu-report` has it
# too.
.PHONY: check-driver check-large check-features
check-driver: $(patsubst %,check-driver-%,$(SUITES_driver)) ## what tests of the CPU device NVIDIA's driver can run
check-driver-%: $(BUILD)/check_driver $(corpus-ptx)
	@$(nvrtc) CK_RUN_SUITE=$* $<
check-large: $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so lib ## arrays beyond 2^32 elements: 14 GB, minutes
	@$(nvrtc) $(test-cache) KUDZU_TEST_LARGE=1 CK_RUN_SUITE=large CK_VERBOSITY=verbose $<
# By hand: what code for older processors computes, those without FMA too.
LEVELS ?= sse2 sse4 avx avx2
LEVEL_SUITES ?= corpus forms half emit emit_vector gathers ulp
check-features: $(BUILD)/check_cpu $(corpus-ptx) ## what code for older processors computes: minutes
	@for level in $(LEVELS); do for suite in $(LEVEL_SUITES); do \
		echo "KUDZU_CPU_FEATURES=$$level"; $(nvrtc) $(patience) \
		KUDZU_CPU_FEATURES=$$level CK_RUN_SUITE=$$suite $< || exit 1; \
		done; done

# By hand, for it needs the network: the samples, and suites of what NVRTC is asked for, with other versions of it.
NVRTC_VERSIONS ?= 12.0 12.1 12.2 12.3 12.4 12.5 12.6 12.8 12.9 13.0 13.1 13.2 13.3 13.4 13.5
# Words and places of errors, and architectures, are those of one version: not all suites can be here.
NVRTC_SUITES ?= nvrtc signature load:driver_580 elementwise reduce
check-nvrtc: $(SAMPLES:%=$(BUILD)/samples/%) $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so lib ## samples and suites with NVRTC 12.0 to 13.5 from pip: minutes
	@.ci/check-nvrtc $(abspath $(BUILD)) '$(NVRTC_VERSIONS)' '$(NVRTC_SUITES)' '$(SAMPLES)'

# By hand, for checked kernels are slow: KERNELS= names folders with more of them.
SUITES_clean := $(filter-out $(SUITES_host),$(call suites-in,$(wildcard \
	$(patsubst %,tests/lib/%/*.c,array ops linalg fft order sparse random tune))))
.PHONY: check-no-reports
check-no-reports: all $(sample-programs) $(BUILD)/check_kudzu $(BUILD)/check_cpu $(BUILD)/libcuda-stub.so \
		$(BUILD)/libcublas-stub.so $(BUILD)/libcufft-stub.so $(FEW) $(corpus-ptx) ## all that has no bug under KUDZU_CHECK=all: half an hour
	@$(nvrtc) tests/tools/no_reports $(BUILD) $(KERNELS:%=--kernels=%) \
		$(SUITES_clean:%=--suite=%) $(if $(ONLY),--only='$(ONLY)')

.PHONY: check-nvrtc check-cli check-pages check-env check-layers check-names check-makefile check-pycuda check-ptx-md check-dropin check-ffi check-citizen check-cxx check-signals check-security check-cudart-md check-guests
# The command has one thread: tsan has nothing to find in what it prints.  A plain program opens the
# library that is traced, which one with a sanitizer does not allow.
check-cli: all $(BUILD)/libcuda-stub.so $(BUILD)/tests/nvml/libnvidia-ml.so.1
	$(call step,check-cli compile,$(nvrtc) $(patience) tests/cli/check_compile $(BUILD))
	$(if $(filter tsan,$(MODE)),,$(call step,check-cli run,$(nvrtc) $(patience) tests/cli/check_run $(BUILD)))
	$(if $(filter tsan,$(MODE)),,$(call step,check-cli bench,$(nvrtc) $(patience) tests/cli/check_bench $(BUILD)))
	$(if $(plain),$(call step,check-cli trace,$(nvrtc) $(patience) sh -c \
		'command -v python3 >/dev/null || { echo "check-cli trace: no python3 here"; exit 0; }; \
		exec tests/lib/core/check_trace $(BUILD)'))
	$(if $(plain),$(if $(cpu-driver),$(call step,check-cli leaks,$(nvrtc) tests/lib/core/check_leaks $(BUILD))))
	$(call step,check-cli info,$(patience) tests/cli/check_info $(BUILD))
	$(if $(filter tsan,$(MODE)),,$(call step,check-cli project,$(nvrtc) $(patience) tests/cli/check_project $(BUILD)))
	$(if $(plain),$(call step,check-cli completions,tests/cli/check_completions))
check-samples: $(SAMPLES:%=check-sample-%)
check-sample-%: $(BUILD)/samples/% lib
	$(call step,sample $*,$(nvrtc) $(test-cache) $(patience) .ci/check-sample $* $<)
check-pages: $(example-programs) lib
	$(call step,$@,$(nvrtc) $(test-cache) $(patience) .ci/check-pages $(BUILD))
check-layers: all ## no folder of src uses one below it in make/lib.mk, by includes and by symbols
	$(call step,$@,.ci/check-layers $(BUILD) $(LAYERS))
	$(call step,$@ finds what is planted,tests/build/check_layers $(BUILD) $(LAYERS))
check-names: ## a static function has a name of its own, with a word of its file; NULL and statuses have one form
	$(call step,$@,.ci/check-names $(LAYERS))
	$(call step,$@ finds what is planted,tests/build/check_names $(LAYERS))
check-env: ## environment variables are read in one place
	$(call step,$@,.ci/check-env)
check-makefile: ## a change recompiles what it touches and nothing else
	$(call step,$@,MAKE='$(MAKE)' tests/build/check_makefile)
check-pycuda:
	$(call step,$@,.ci/check-pycuda)
check-citizen: lib $(CITIZEN)
	$(call step,$@,$(nvrtc) tests/citizen/check $(BUILD))
# Its operators new and delete are malloc and free, for which others call the sanitizer's.
handles-asan := intercept_tls_get_addr=0:alloc_dealloc_mismatch=0:$(asan-memory)
check-cxx: lib $(HANDLES)
	$(call step,$@,if [ ! -e $(HANDLES) ]; then echo "$@: $$(cat $(HANDLES).left-out)"; else \
		$(nvrtc) $(test-cache) ASAN_OPTIONS="$(handles-asan):$$ASAN_OPTIONS" $(HANDLES); fi)
# Those with system calls that a signal ends early, but for suites whose own calls it would end.
SIGNALLED := store file pack module image_cache warm load bundle npy npz transfer pinned memory stream streams \
	graph capture mempool kernel prepared eval trace released array_check threads
check-signals: $(BUILD)/check_kudzu $(BUILD)/tests/citizen/alarm.so $(BUILD)/libcuda-stub.so lib ## suites under a thousand signals a second
	$(call step,$@,for suite in $(SIGNALLED); do $(nvrtc) $(test-cache) KUDZU_TEST_BRIEF=1 CK_RUN_SUITE=$$suite \
		LD_PRELOAD=$(abspath $(BUILD)/tests/citizen/alarm.so) $< || exit 1; done)
check-security: lib $(BUILD)/tests/security/program $(BUILD)/libcuda-stub.so ## others make no program run their code
	$(call step,$@,tests/security/check $(BUILD))
check-ffi: lib
	$(call step,$@,$(nvrtc) $(test-cache) .ci/check-ffi $(BUILD))
docs/ptx.md: $(BUILD)/docs/ptx FORCE
	$(call rewrite,$<)
docs/cudart.md: $(BUILD)/docs/cudart FORCE
	$(call rewrite,$<)
check-ptx-md check-cudart-md: check-%-md: $(BUILD)/docs/%
	$(call step,$@,{ $< | cmp - docs/$*.md || { echo 'run: make docs/$*.md'; false; }; })
check-dropin: all $(DROPIN) $(ASK) $(FAKE_LINKER) $(BUILD)/check_driver
	$(call step,$@,$(nvrtc) tests/dropin/check $(BUILD))
	@CK_RUN_SUITE=syntax $(BUILD)/kudzu cpu -- $(BUILD)/check_driver

check-guests: all ## programs that nvcc compiles, where it is installed
	$(call step,$@,tests/cudart/check $(BUILD))

# --- Checks for developers -----------------------------------------------------------------------

# What a change has to pass, in ten minutes on two cores: brief forms, and of lint and of
# AddressSanitizer's suites those near what changed since BASE (.ci/changed).  These always run
# there:
SUITES_gate := base store module memory array elementwise reduce matmul sort fft threads released parse emit launch \
	api api_stream api_capture
.PHONY: gate gate-steps gate-lint gate-asan
gate: ## what a change has to pass: a brief check, and lint and asan near what changed since BASE
	@echo "gate: what changed since $$(git log -1 --format='%h (%s)' "$$(.ci/changed base)")"
	+@KUDZU_TEST_BRIEF=1 $(MAKE) --no-print-directory -k $(jobs) gate-steps
	@echo 'PASS: gate'
gate-steps: gate-asan all-checks gate-lint lint-shell check-headers
gate-lint:
	+@$(MAKE) --no-print-directory lint-c SOURCES_lint="$$(.ci/changed sources | tr '\n' ' ')"
gate-asan:
	+@$(MAKE) --no-print-directory check-unit MODE=asan BUILD=build/asan \
		SUITES="$(SUITES_gate) $$(.ci/changed suites | tr '\n' ' ')"

# Side by side, as many as there are jobs.
# The output of a step comes when it has ended.  .ci/run has done `check`, and wants check-fresh
# too: DONE=check ALSO=check-fresh.
# Those of one process come before those of many, which fill all cores to the end.
STEPS := check-asan check-mpi check-numpy check-install check-random check-signals check-debug \
	check-instructions check-headers check-docs \
	check-symbols check-tsan check-clang check-nocpu check-avx2 check-llvm14 lint
all-steps := $(ALSO) $(STEPS)
.PHONY: check-all all-steps check $(STEPS) $(all-steps:%=ended-%) check-ubsan check-fresh check-abi abi check-reproducible
check-all: ## all of the checks below but check-fresh, -abi, -reproducible
	+@status=0; $(if $(filter check,$(DONE)),,$(MAKE) --no-print-directory check || status=1;) \
		mkdir -p $(BUILD); date +%s >$(BUILD)/steps.began; rm -f $(BUILD)/steps.ended; \
		$(MAKE) --no-print-directory -k $(jobs) SYNC=recurse all-steps || status=1; \
		for step in $(all-steps); do grep -qsx $$step $(BUILD)/steps.ended || echo "failed: $$step"; done; \
		exit $$status
all-steps: $(all-steps:%=ended-%)
$(all-steps:%=ended-%): ended-%: %
	@echo $* >>$(BUILD)/steps.ended
	@echo "==== $* ended after $$(($$(date +%s) - $$(cat $(BUILD)/steps.began))) s"
check-clang: ## all of it built with clang in debug mode, and the samples run; `make check CC=clang` is the rest
	@$(MAKE) --no-print-directory all check-samples CC=clang MODE=debug BUILD=build/clang
check-asan check-ubsan check-tsan: check-%: ## the tests under a sanitizer (asan: and ubsan)
	@$(MAKE) --no-print-directory check MODE=$* BUILD=build/$*
# $(call take-objects,BUILD,SOURCES): what the same flags have compiled here is not compiled again there.
# config has the flags of all, and goes first: make takes objects that are older for stale.
take-objects = @mkdir -p $1 && cd $(BUILD) && cp -p --parents -t $(abspath $1) config $(2:.c=.o)
check-nocpu: all ## the build without LLVM
	$(call take-objects,build/nocpu,$(filter-out src/lib/cuda/%,$(SOURCES_kudzu) $(SOURCES_command)))
	@$(MAKE) --no-print-directory all check-symbols CPU=0 BUILD=build/nocpu
# Most machines of users have no AVX-512.
check-avx2: ## some suites with code for processors that have AVX2, in seconds
	@[ "$$(uname -m)" != x86_64 ] || $(MAKE) --no-print-directory check-features LEVELS=avx2 \
		LEVEL_SUITES='emit half gathers'
# Those of what LLVM makes; the rest does not depend on it.
LLVM_SUITES := $(filter-out emit_size,$(filter emit% corpus forms half mma kernel_cache features,$(SUITES_cpu)))
check-llvm14: ## the tests of the CPU device with the oldest LLVM, where it is installed
	@command -v llvm-config-14 >/dev/null || { echo 'LLVM 14 is not installed'; exit 0; }; \
	[ "$$(.ci/find-llvm)" != llvm-config-14 ] || { echo 'LLVM 14 is what all is built with'; exit 0; }; \
	$(MAKE) --no-print-directory check-cpu LLVM_CONFIG=llvm-config-14 BUILD=build/llvm14 \
		SUITES='$(LLVM_SUITES)'
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
check-numpy = $(nvrtc) $(test-cache) tests/numeric/check_numpy --build $(abspath $(BUILD))
check-float8 = $(nvrtc) $(test-cache) tests/numeric/check_float8 --build $(abspath $(BUILD))
check-debug: all $(if $(cpu-driver),$(BUILD)/tests/dropin/vectoradd) ## gdb in kernels: lines, calls, variables, watchpoints; seconds
	$(if $(cpu-driver),$(call step,$@,$(nvrtc) tests/debug/check $(BUILD) $(CASE)))
check-numpy: lib ## what the library computes with arrays, beside numpy and scipy; TIMES=1 is 12,000 random cases
	$(call step,$@,$(check-numpy) --times $(or $(TIMES),0.1))
	$(call step,$@ without libraries,KUDZU_BLAS=none KUDZU_LAPACK=none $(check-numpy) --times 0.05 --quiet)
	$(call step,$@ finds what is planted,$(check-numpy) --times 0.05 --spoil --quiet)
	$(call step,$@ 8-bit floats,$(check-float8))
	$(call step,$@ 8-bit floats finds what is planted,$(check-float8) --spoil)
check-random: lib ## the distributions of random numbers, beside scipy; COUNT=10000000 of each
	$(call step,$@,$(nvrtc) $(test-cache) tests/numeric/check_random --build $(abspath $(BUILD)) --count $(or $(COUNT),1000000))
	$(call step,$@ finds what is planted,$(nvrtc) $(test-cache) tests/numeric/check_random --build $(abspath $(BUILD)) \
		--count 300000 --spoil >/dev/null)
check-mpi: lib ## samples/mpi over one to four ranks, where there is an MPI
	$(call step,$@,$(nvrtc) $(test-cache) tests/mpi/check $(BUILD))
check-symbols: lib ## the libraries export what they should, nothing else
	$(call step,$@,.ci/check-symbols $(BUILD))
check-install: all ## install, build programs against it, run them without the build, uninstall
	$(call step,$@,MAKE='$(MAKE)' CC='$(CC)' $(nvrtc) tests/install/check $(BUILD)/install $(if $(filter release,$(MODE)),$(BUILD)))
check-abi: lib ## programs of the last release still run (abidiff, with packaging/release/libkudzu.abi)
	$(call step,$@,CC='$(CC)' .ci/check-abi $(BUILD) packaging/release/libkudzu.abi)
abi: lib ## write packaging/release/libkudzu.abi anew, for a release (abidw)
	@.ci/abi $(BUILD)/libkudzu.so >$(BUILD)/libkudzu.abi && mv $(BUILD)/libkudzu.abi packaging/release
check-reproducible: ## two builds in different folders give the same bytes
	$(call step,$@,MAKE='$(MAKE)' .ci/check-reproducible)
# What a machine can change: suites that use each library and each file that setup brings (Check,
# libc and its linker, xxhash, NVRTC and its headers, LLVM and zstd, OpenBLAS), system calls, and
# threads.  The programs, samples and pages of `make check` are all tried.
SUITES_fresh := base hash store_calls drv nvrtc headers rtc_compile cache device ipc trace module elementwise reduce \
	matmul factor eigen libraries fft sort npz std forks threads features parse emit emit_warp kernel_cache code launch \
	api api_ipc api_managed
check-fresh: ## the README's two commands on a bare Debian 12, or with the toolkit hidden
	$(call step,$@,.ci/check-fresh $(SUITES_fresh))

.PHONY: lint lint-c lint-shell
# How far the analyzer follows the paths of a function: by itself 225,000 steps, which take ten
# times as long as these; `make lint LINT_STEPS=225000` before a release.
LINT_STEPS ?= 15000
lint: lint-c lint-shell ## clang-tidy (functions to 80 lines, and bugs) and shellcheck
SOURCES_lint := $(SOURCES_kudzu) $(SOURCES_device) $(SOURCES_command) $(SOURCES_dropin) $(SOURCES_cudart)
lint-c: $(patsubst %,lint/%,$(sort $(SOURCES_lint)))
	@echo 'PASS: $@'
lint/%.c: $(BUILD)/llvm.flags $(BUILD)/folders.flags
	$(call say,LINT)cat $^ | xargs clang-tidy --quiet $*.c -- -std=gnu11 $(INCLUDES) \
		-Xclang -analyzer-config -Xclang max-nodes=$(LINT_STEPS) 2>/dev/null
scripts := $(filter-out %.txt %.awk tests/cpu/check packaging/site/check,$(wildcard src/dropin/nvcc .ci/* packaging/*.sh packaging/*/build packaging/*/check tests/*/check \
	tests/cli/check_* tests/build/check_* bench/*.sh tests/samples/*.sh))
lint-shell:
	$(call step,$@,shellcheck $(scripts))
