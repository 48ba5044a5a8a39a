# SPDX-License-Identifier: MIT
#
# Random programs, and random bytes.  All of it is run by hand, SECONDS= long.

SECONDS ?= 3600

# --- Random programs, each run here and by an interpreter of its own; SEED is where to begin

.PHONY: fuzz-diff fuzz-count
fuzz-objects = $(call objects,$(sort tests/fuzz/fuzz_$1.c $(GENERATOR) $2)) $(BUILD)/tests/support.a
fuzz-diff: $(BUILD)/fuzz_diff ## random programs for SECONDS=3600, from SEED= on
	@$(nvrtc) $< $(SECONDS) $(SEED)
# Which instructions those programs have, without running them.
fuzz-count: $(BUILD)/fuzz_count
	@$< 1000 $(SEED)
$(BUILD)/fuzz_diff $(BUILD)/fuzz_count: $(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o \
		$(call fuzz-objects,diff,tests/cpu/support/driver_ours.c $(SOURCES_device)) $(BUILD)/llvm.libs
	$(call say,LD)$(LINK) -o $@ $< $(filter-out %/fuzz_diff.o %/fuzz_count.o,$(filter %.o %.a,$^)) \
		-Wl,--wrap=__cxa_atexit @$(BUILD)/llvm.libs $(CHECK_LIBS) $(LIBS)
# The same on the libcuda.so.1 that there is.
$(BUILD)/fuzz_driver: $(call fuzz-objects,diff,tests/cpu/driver/driver_other.c $(SOURCES_base)) \
		$(BUILD)/kudzu-cpu/stubs/libcuda.so
	$(call say,LD)$(LINK) -o $@ $(filter %.o %.a,$^) -L$(BUILD)/kudzu-cpu/stubs -lcuda \
		$(CHECK_LIBS) $(LIBS)

# --- Any bytes, under clang's libFuzzer, beginning with the samples of the tests ---

# fuzz-NAME runs tests/fuzz/fuzz_NAME.c with what is in build/fuzz/seeds/NAME; both are made by this
# makefile in MODE=fuzz.
fuzz-bytes := $(addprefix fuzz-,ptx image npy csv eval args argument pack bundle)
.PHONY: $(fuzz-bytes)
fuzz-ptx: ## any bytes as PTX for SECONDS=3600 under libFuzzer (clang)
fuzz-image: ## any bytes as fat binaries and to link, likewise
fuzz-npy: ## any bytes as .npy and .npz files, likewise
fuzz-csv: ## any bytes as CSV text, likewise
fuzz-eval: ## any bytes as expressions, likewise
fuzz-args: ## any bytes as argument lists of users' kernels, likewise
fuzz-argument: ## any bytes as arguments of `kudzu run`, likewise
fuzz-pack: ## any bytes as packed images, likewise
fuzz-bundle: ## any bytes as bundles and to link, likewise
$(fuzz-bytes): fuzz-%:
	@$(MAKE) --no-print-directory MODE=fuzz BUILD=build/fuzz CC=clang build/fuzz/fuzz_$* \
		build/fuzz/libcuda-stub.so build/fuzz/seeds/$* build/fuzz/ptx.dict
	KUDZU_CUDA_DRIVER=build/fuzz/libcuda-stub.so build/fuzz/fuzz_$* -max_total_time=$(SECONDS) \
		-rss_limit_mb=4000 -timeout=60 -max_len=20000 -artifact_prefix=build/fuzz/ $(fuzz-words) build/fuzz/seeds/$*
fuzz-ptx fuzz-image: fuzz-words := -dict=build/fuzz/ptx.dict

# The words of PTX: what is in quotes in the table of instructions, and the special registers.
$(BUILD)/ptx.dict: tests/fuzz/ptx.dict src/cpu/ptx/ptx.def src/cpu/ptx/ptx.h
	@mkdir -p $(@D) && { cat $<; sed -n 's/^X([^"]*"\([^"]*\)".*/"\1"/p' src/cpu/ptx/ptx.def | sort -u; \
		grep -v '^ \*' src/cpu/ptx/ptx.def | grep -o '"[^"]*"' | tr -cs 'A-Za-z0-9_:' '\n' | \
			sed -n 's/..*/".&"/p' | sort -u; \
		grep -o '"%[^"]*"' src/cpu/ptx/ptx.h | sort -u; } >$@

# What reads PTX, and the library with the parts of the command that read arguments.
fuzz-device := $(addprefix $(BUILD)/fuzz_,ptx image)
fuzz-library := $(addprefix $(BUILD)/fuzz_,npy csv eval args argument pack bundle)
$(fuzz-device): $(call objects,$(SOURCES_base) $(call sources-in,cpu/config cpu/ptx cpu/ir))
$(fuzz-library): $(call objects,$(SOURCES_kudzu) $(COMMAND_PARTS))
$(fuzz-device) $(fuzz-library): $(BUILD)/fuzz_%: $(BUILD)/tests/fuzz/fuzz_%.o
	$(call say,LD)$(LINK) -fsanitize=fuzzer -o $@ $^ $(LIBS)

# $(call strings-of,FILE): a file in the folder for each row {"text", ...} of a table in FILE.
strings-of = sed -n 's/^\t{"\([^"]*\)", .*/\1/p' $1 | while IFS= read -r text; do \
	printf '$2%s' "$$text" >$@/$$(echo "$$text" | cksum | cut -d' ' -f1); done
seeds := $(BUILD)/seeds
$(seeds)/ptx:
	@mkdir -p $@ && for sample in tests/data/ptx/*/*/input.ptx $(wildcard $(PTX)/*.ptx); \
		do cp $$sample $@/$$(echo $$sample | tr / _); done
$(seeds)/image:
	@mkdir -p $@ && for sample in tests/data/fatbin/*.fatbin; \
		do { printf '\0'; cat $$sample; } >$@/$$(echo $$sample | tr / _); done
	@for sample in tests/data/ptx/valid/*/input.ptx; do name=$@/$$(echo $$sample | tr / _); \
		{ printf '\2'; cat $$sample; } >$$name.one; \
		{ printf '\3'; cat $$sample; printf '\37'; cat $$sample; } >$$name.two; done
$(seeds)/npy:
	@mkdir -p $@ && cp tests/data/npy/* $@
$(seeds)/csv:
	@mkdir -p $@ && { printf '\220' && cat samples/iris.csv; } >$@/iris && \
		printf ' # x\n"a ""b""\r\n", 2\r\n-1e-3,NA\r' >$@/quotes
$(seeds)/eval:
	@mkdir -p $@ && $(call strings-of,tests/lib/ops/test_eval_parse.c, )
$(seeds)/args:
	@mkdir -p $@ && printf 'float a, raw const int *x' >$@/1 && \
		printf 'pair<int, float> *p,\n pycuda::complex<double> c, unsigned long k' >$@/2
$(seeds)/argument:
	@mkdir -p $@ && $(call strings-of,tests/cli/test_argument.c) && \
		printf 'k(float *, int)\n__global__ void k(float *x, int n) {}' >$@/kernel
$(seeds)/pack:
	@mkdir -p $@
$(seeds)/bundle:
	@$(MAKE) --no-print-directory MODE=release BUILD=build/release CC=cc build/release/samples/11_bundle
	@mkdir -p $@ && cp tests/data/fatbin/* $@ && \
		ar rc $@/library.a tests/data/fatbin/*.obj tests/data/ptx/valid/*/input.ptx && \
		$(nvrtc) build/release/samples/11_bundle write $@/sample
