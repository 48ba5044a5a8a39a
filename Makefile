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
BUILD ?= build/$(MODE)$(if $(filter 0,$(CPU)),-nocpu)

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

# Recipes do not quote paths; one with a space would end up somewhere else.
$(foreach v,BUILD BINDIR LIBDIR INCLUDEDIR MANDIR DESTDIR,\
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
	module.h kernel.h array.h diagnose.h shape.h preprocessor.h)
BASE := $(addprefix src/base/,error.c alloc.c str.c arena.c map.c file.c dl.c)
DRV := $(addprefix src/drv/,drv.c codes.c)
RTC := $(addprefix src/rtc/,nvrtc.c headers.c scan.c arch.c compile.c job.c diag.c signature.c demangle.c type.c \
	image.c image_ptx.c image_cubin.c)
LIB := $(BASE) $(DRV) $(RTC) $(addprefix src/,kudzu.c error.c dtype.c device.c stream.c memory.c \
	module.c missing.c kernel.c args.c array.c format.c diagnose.c)
CPU_DRIVER := $(BASE) $(addprefix src/cpu/,ptx.c lex.c parser.c parse.c parse_var.c parse_body.c \
	check.c cfg.c rt.c emit.c emit_alu.c emit_bits.c emit_cmp.c emit_cvt.c emit_float.c \
	emit_math.c emit_mem.c emit_atom.c emit_flow.c jit.c memory.c fault.c pool.c block.c \
	launch.c api_handle.c api_context.c api_device.c api_module.c api_function.c api_memory.c \
	api_copy.c api_stream.c api_launch.c api_misc.c exports.c)
CLI := $(addprefix src/cli/,main.c doctor.c)
sources := $(LIB) $(CPU_DRIVER) $(CLI)
SAMPLES := 01_doublify 02_vecadd 03_device_info
BENCHES := bench_launch bench_compile bench_cold

# A suite NAME is tests/test_NAME.c, which exports NAME_suite.
SUITES_kudzu := base error file drv codes abi rtc_signature rtc_scan rtc_diag rtc_headers rtc_image \
	rtc_nvrtc rtc_compile args dtype device stream memory array module kernel diagnose cuda hero
SUITES_cpu := lex parse check cfg emit emit_flow cpu_memory pool launch api api_kernels
SUITES := $(SUITES_kudzu) $(SUITES_cpu)
SUPPORT_kudzu := $(addprefix tests/,support.c abi_ours.c abi_real.c)
SUPPORT_cpu := tests/support.c tests/machine.c
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
MODE_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address
MODE_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
MODE_tsan := -O1 -g -fsanitize=thread
$(if $(MODE_$(MODE)),,$(error MODE=$(MODE): expected debug, release, asan, ubsan or tsan))
$(if $(filter 0 1,$(CPU)),,$(error CPU=$(CPU): expected 1 or 0))

WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
COMPILE = $(CC) -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden -pthread -Iinclude \
	$(MODE_$(MODE)) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP
LINK = $(CC) -pthread $(MODE_$(MODE)) $(CFLAGS) $(LDFLAGS)
# A sanitizer's runtime belongs to the program: there a library may have undefined symbols.
SHARED = $(LINK) -shared -Wl,-Bsymbolic-functions $(if $(findstring san,$(MODE)),,-Wl,-z,defs)

LIBS += -ldl -lm
# To carry the tests to a machine without Check: CHECK_LIBS='-l:libcheck.a -lsubunit -lrt -lm'.
CHECK_LIBS = $$(pkg-config --libs check)

cpu-driver := $(if $(filter 0,$(CPU)),,libkudzu-cpu.so)
objects = $(patsubst %.c,$(BUILD)/%.o,$1)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $1 $(@:$(BUILD)/%=%);)
# $(call rewrite,COMMAND): the target holds what COMMAND prints; untouched if it does already.
rewrite = @mkdir -p $(@D); $1 >$@.new && \
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
print = printf '%s\n' '$(subst ','\'',$1)'
# $(call step,NAME,COMMAND): a check that is not a Check suite; .ci/totals counts these lines.
step = @if $2; then echo 'PASS: $1'; else echo 'FAIL: $1'; exit 1; fi

# --- Building ------------------------------------------------------------------------------------

.PHONY: FORCE all lib run install uninstall clean
all: lib $(BUILD)/kudzu ## build the libraries and the program (the default)
lib: $(addprefix $(BUILD)/,libkudzu.so libkudzu.a $(cpu-driver)) ## build the libraries

$(BUILD)/config: FORCE
	$(call rewrite,$(call print,$(COMPILE) | $(LINK) | $(LLVM_CONFIG) | $(SUITES) | $(sources)))
$(BUILD)/folders.flags: FORCE
	$(call rewrite,$(call print,-DKZ_LIBDIR=\"$(LIBDIR)\" -DKZ_WITH_CPU=$(CPU)))
$(BUILD)/cuda.flags: FORCE
	$(call rewrite,.ci/find-cuda --flags)
$(BUILD)/llvm.flags $(BUILD)/llvm.libs &: $(BUILD)/config .ci/find-llvm
	@config=$$(LLVM_CONFIG='$(LLVM_CONFIG)' .ci/find-llvm) && \
	echo "-isystem $$($$config --includedir)" >$(BUILD)/llvm.flags && \
	$$config --link-shared --ldflags --libs core orcjit native passes >$(BUILD)/llvm.libs

$(BUILD)/%.o: %.c $(BUILD)/config
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -c -o $@ $<
$(BUILD)/src/drv/%.o: private EXTRA = @$(BUILD)/folders.flags
$(call objects,$(DRV)): $(BUILD)/folders.flags
$(BUILD)/src/cpu/%.o: private EXTRA = @$(BUILD)/llvm.flags
$(call objects,$(filter src/cpu/%,$(CPU_DRIVER))): $(BUILD)/llvm.flags

$(BUILD)/libkudzu.so.$(VERSION): $(call objects,$(LIB)) src/kudzu.map
	$(call say,LD)$(SHARED) -Wl,-soname,libkudzu.so.$(SOVERSION) \
		-Wl,--version-script=src/kudzu.map -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/libkudzu.so: $(BUILD)/libkudzu.so.$(VERSION)
	@ln -sf libkudzu.so.$(VERSION) $(BUILD)/libkudzu.so.$(SOVERSION)
	@ln -sf libkudzu.so.$(SOVERSION) $@
# One object with the internal names made local: they cannot clash with those of a program.
$(BUILD)/libkudzu.a: $(call objects,$(LIB))
	@rm -f $@
	$(call say,AR)$(LD) -r -o $(BUILD)/libkudzu.o $^ && \
		objcopy --localize-hidden $(BUILD)/libkudzu.o && $(AR) rcs $@ $(BUILD)/libkudzu.o
# nodelete: its worker threads run its code as long as there is a context.
$(BUILD)/libkudzu-cpu.so: $(call objects,$(CPU_DRIVER)) $(BUILD)/llvm.libs src/kudzu-cpu.map
	$(call say,LD)$(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/kudzu-cpu.map \
		-Wl,-z,nodelete \
		-o $@ $(filter %.o,$^) @$(BUILD)/llvm.libs $(LIBS)
# It finds its library in the build folder, and in every PREFIX, moved or not.
$(BUILD)/kudzu: $(call objects,$(CLI)) $(BUILD)/libkudzu.so
	$(call say,LD)$(LINK) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/../lib:$(LIBDIR)' \
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

# --- Running and testing -------------------------------------------------------------------------

# NVRTC from the wheels, where `make setup` put them; the user's own choice comes first.
wheel := build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13
nvrtc = $(if $(wildcard $(wheel)),KUDZU_NVRTC="$${KUDZU_NVRTC-$(CURDIR)/$(wheel)}",$(if \
	$(filter wheel,$(NVRTC)),$(error no wheels in build/nvrtc: run `make setup NVRTC=wheel`)))
retry = $(if $(filter asan,$(MODE)),.ci/run-tests)
patience = $(if $(findstring san,$(MODE)),CK_TIMEOUT_MULTIPLIER=10)
sample-programs := $(SAMPLES:%=$(BUILD)/samples/%)

run: all $(sample-programs) ## build and run the samples
	@for sample in $(sample-programs); do echo "$$sample"; $(nvrtc) $$sample || exit 1; done

.PHONY: check check-unit check-kudzu check-cpu check-samples check-readme check-layers
check: check-unit check-samples check-readme check-layers ## run the tests, the samples, the README
check-unit: check-kudzu $(if $(filter 0,$(CPU)),,check-cpu)
check-kudzu: $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so lib
	@$(nvrtc) $(patience) $(retry) $<
check-cpu: $(BUILD)/check_cpu
	@$(nvrtc) $(patience) $(retry) $<
check-samples: $(SAMPLES:%=check-sample-%)
check-readme: $(BUILD)/docs/examples/errors lib
	$(call step,$@,$(nvrtc) .ci/check-readme $<)
check-sample-%: $(BUILD)/samples/% lib
	$(call step,sample $*,$(nvrtc) .ci/check-sample $* $<)
check-layers:
	$(call step,$@,.ci/check-layers)

suites = $(SUITES_$1:%=tests/test_%.c) $(SUPPORT_$1)
runner = $(call objects,$(call suites,$1) $2) $(BUILD)/tests/main_$1.o
$(BUILD)/tests/%.o: private EXTRA = @$(BUILD)/cuda.flags -DKZ_TEST_BUILD='"$(abspath $(BUILD))"' \
	-DKZ_TEST_DIR='"$(CURDIR)/tests"' $$(pkg-config --cflags check)
$(call objects,$(call suites,kudzu) $(call suites,cpu) $(STUB)): $(BUILD)/cuda.flags
$(BUILD)/tests/main_%.o: tests/main.c $(BUILD)/config $(BUILD)/cuda.flags
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -DSUITES='$(SUITES_$*:%=X(%))' -c -o $@ $<
# The runners hold the library's objects, not the library: tests see what is inside.
$(BUILD)/check_kudzu: $(call runner,kudzu,$(LIB))
	$(call say,LD)$(LINK) -o $@ $^ $(CHECK_LIBS) $(LIBS)
$(BUILD)/check_cpu: $(call runner,cpu,$(CPU_DRIVER)) $(BUILD)/llvm.libs
	$(call say,LD)$(LINK) -o $@ $(filter %.o,$^) @$(BUILD)/llvm.libs \
		$(CHECK_LIBS) $(LIBS)
$(BUILD)/libcuda-stub.so: $(call objects,$(STUB))
	$(call say,LD)$(LINK) -shared -Wl,-soname,$(@F) -o $@ $^

# --- Checks for developers -----------------------------------------------------------------------

STEPS := check check-clang check-asan check-ubsan check-tsan check-nocpu check-llvm14 lint \
	check-headers check-symbols check-install
.PHONY: check-all $(STEPS) check-fresh
check-all: ## all of the checks below but check-fresh, with both compilers and the sanitizers
	@failed=; for step in $(STEPS); do echo "==== $$step"; \
		$(MAKE) --no-print-directory $$step || failed="$$failed $$step"; \
	done; if [ -n "$$failed" ]; then echo "failed:$$failed"; exit 1; fi
check-clang: ## the tests, built with clang
	@$(MAKE) --no-print-directory check CC=clang BUILD=build/clang
check-asan check-ubsan check-tsan: check-%: ## the tests under a sanitizer; -ubsan, -tsan too
	@$(MAKE) --no-print-directory check MODE=$* BUILD=build/$*
check-nocpu: ## the build without LLVM
	@$(MAKE) --no-print-directory all check-symbols CPU=0 BUILD=build/nocpu
check-llvm14: ## the tests of the CPU device with the oldest LLVM, where it is installed
	@command -v llvm-config-14 >/dev/null || { echo 'LLVM 14 is not installed'; exit 0; }; \
	$(MAKE) --no-print-directory check-cpu LLVM_CONFIG=llvm-config-14 BUILD=build/llvm14
check-headers: ## each public header alone, C11 and C++17, with every compiler there is
	$(call step,$@,.ci/check-headers)
check-symbols: lib ## the libraries export what they should, nothing else
	$(call step,$@,.ci/check-symbols $(BUILD))
check-install: ## install, build programs against it, run them without the build, uninstall
	$(call step,$@,MAKE='$(MAKE)' CC='$(CC)' $(nvrtc) tests/install/check $(BUILD)/install)
check-fresh: ## make setup run check in a new bare Debian 12 (root, debootstrap, network)
	@.ci/check-fresh

.PHONY: lint-c lint-shell
lint: lint-c lint-shell ## clang-tidy (functions to 80 lines, and bugs) and shellcheck
lint-c: $(patsubst %,lint/%,$(sort $(LIB) $(CPU_DRIVER) $(CLI)))
	@echo 'PASS: $@'
lint/%.c: $(BUILD)/llvm.flags $(BUILD)/folders.flags
	$(call say,LINT)cat $^ | xargs clang-tidy --quiet $*.c -- -std=gnu11 -Iinclude 2>/dev/null
lint-shell:
	$(call step,$@,shellcheck $(filter-out %.txt,$(wildcard .ci/*)) tests/install/check $(wildcard bench/*.sh))

# --- Measuring -----------------------------------------------------------------------------------

bench-programs := $(BENCHES:%=$(BUILD)/bench/%)
.PHONY: bench gpu-report
bench: all $(bench-programs) $(BUILD)/libcuda-stub.so ## the benchmarks that need no GPU
	@$(nvrtc) bench/run.sh $(BUILD)
gpu-report: all $(sample-programs) $(bench-programs) $(BUILD)/check_kudzu $(BUILD)/libcuda-stub.so ## tests, compute-sanitizer and benchmarks on a GPU
	@$(nvrtc) bench/gpu_report.sh $(BUILD)

# --- Installing ----------------------------------------------------------------------------------

LINKS := $(LIBDIR)/libkudzu.so $(LIBDIR)/libkudzu.so.$(SOVERSION)
LIBRARIES := libkudzu.so.$(VERSION) libkudzu.a $(cpu-driver)
INSTALLED := $(BINDIR)/kudzu $(MANDIR)/man1/kudzu.1 $(LINKS) \
	$(addprefix $(LIBDIR)/,$(LIBRARIES) pkgconfig/kudzu.pc) \
	$(addprefix $(INCLUDEDIR)/,$(HEADERS:include/%=%))

$(BUILD)/kudzu.pc: src/kudzu.pc.in FORCE
	@sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
		-e 's|@LIBDIR@|$(LIBDIR:$(PREFIX)/%=$${prefix}/%)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR:$(PREFIX)/%=$${prefix}/%)|' $< >$@
ldconfig = $(if $(DESTDIR),,@if [ "$$(id -u)" = 0 ]; then /sbin/ldconfig; fi)
install: all $(BUILD)/kudzu.pc ## install into PREFIX, below DESTDIR
	install -d $(addprefix $(DESTDIR),$(BINDIR) $(LIBDIR)/pkgconfig $(INCLUDEDIR)/kudzu \
		$(MANDIR)/man1)
	install $(BUILD)/kudzu $(DESTDIR)$(BINDIR)
	install -m 644 $(addprefix $(BUILD)/,$(LIBRARIES)) $(DESTDIR)$(LIBDIR)
	for link in $(LINKS); do ln -sf libkudzu.so.$(VERSION) $(DESTDIR)$$link || exit 1; done
	install -m 644 $(BUILD)/kudzu.pc $(DESTDIR)$(LIBDIR)/pkgconfig
	install -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)/kudzu
	install -m 644 docs/kudzu.1 $(DESTDIR)$(MANDIR)/man1
	$(ldconfig)
uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	[ ! -d $(DESTDIR)$(INCLUDEDIR)/kudzu ] || rmdir $(DESTDIR)$(INCLUDEDIR)/kudzu
	$(ldconfig)
clean: ## remove what was built (build/nvrtc, the wheels, stays)
	rm -rf $(filter-out build/nvrtc,$(wildcard build/*)) $(BUILD)

-include $(patsubst %.c,$(BUILD)/%.d,$(LIB) $(CPU_DRIVER) $(CLI) $(STUB) \
	$(call suites,kudzu) $(call suites,cpu) tests/main_kudzu.c tests/main_cpu.c)
-include $(addsuffix .d,$(sample-programs) $(bench-programs) $(BUILD)/docs/examples/errors)

endif

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\)[ :].*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 16
	@echo 'V=1 shows commands.  MODE=debug|release|asan|ubsan|tsan, CPU=0 (no LLVM), LLVM_CONFIG=,'
	@echo 'CC=, CPPFLAGS=, CFLAGS=, LDFLAGS=, BUILD= (now $(BUILD)),'
	@echo 'PREFIX= (now $(PREFIX)), LIBDIR=, INCLUDEDIR=, BINDIR=, MANDIR=, DESTDIR=.'
