# SPDX-License-Identifier: MIT
#
# Builds Kudzu; `make help` lists what it can do.  Here: options, flags, the libraries, the command.
# The rest is in make/: lib.mk says which folder is in which library, test.mk has the tests and the
# checks for developers, bench.mk, fuzz.mk, install.mk and site.mk what their names say.
#
# There is no configure step.  Nothing is looked for while the makefiles are read: the recipes do
# that (.ci/find-llvm, .ci/find-cuda) and leave the answer in $(BUILD), as files of flags that the
# compiler reads (`cc @file`).  Each of those files is rewritten only when its text changes, so
# changed flags rebuild exactly what they touch.  Sources are the .c files of each folder: a new one
# is listed nowhere.

MODE ?= release
CPU ?= 1
CUDART ?= 1
# LLVM's part of the driver has LLVM in it, where that can be; but sanitizers would not see into it.
LLVM_LINK ?= $(if $(filter asan ubsan tsan,$(MODE)),shared,static)
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
datadir ?= $(PREFIX)/share
DATADIR ?= $(datadir)

# Recipes do not quote paths; one with a space would end up somewhere else.
$(foreach v,BUILD BINDIR LIBDIR INCLUDEDIR MANDIR DATADIR DESTDIR,\
	$(if $(word 2,$($v)),$(error $v='$($v)': a path without spaces is needed)))
# They become part of the library, of kudzu.pc and of links, so the working directory must not
# matter.
$(foreach v,BINDIR LIBDIR INCLUDEDIR MANDIR DATADIR,\
	$(if $(filter /%,$($v)),,$(error $v='$($v)': an absolute path is needed)))

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
# SYNC=recurse: the output of a make within this one stays together (check-all).
SYNC ?= target
MAKEFLAGS += --no-builtin-rules --output-sync=$(SYNC)

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

# --- Version, flags ------------------------------------------------------------------------------

version-h := $(file <include/kudzu/version.h)
version-of = $(patsubst $1=%,%,$(filter $1=%,$(subst $1 ,$1=,$(version-h))))
MAJOR := $(call version-of,KZ_VERSION_MAJOR)
MINOR := $(call version-of,KZ_VERSION_MINOR)
VERSION := $(MAJOR).$(MINOR).$(call version-of,KZ_VERSION_PATCH)
# While the major number is 0 a minor version may break programs, so it is in the soname.
SOVERSION := $(if $(filter 0,$(MAJOR)),0.$(MINOR),$(MAJOR))

MODE_debug := -O0 -g3
# Functions begin at a cache line: how fast a loop is does not depend on the code in front of it.
MODE_release := -O2 -g -falign-functions=64
MODE_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
MODE_ubsan := -O1 -g -fsanitize=undefined -fno-sanitize-recover=all
# gcc says so by itself, clang does not (`make check-tsan CC=clang`).
MODE_tsan := -O1 -g -fsanitize=thread -D__SANITIZE_THREAD__=1
# For make/fuzz.mk, which has clang build it.
MODE_fuzz := -O1 -g -fsanitize=fuzzer-no-link,address,undefined
$(if $(MODE_$(MODE)),,$(error MODE=$(MODE): expected debug, release, asan, ubsan, tsan or fuzz))
$(if $(filter 0 1,$(CPU)),,$(error CPU=$(CPU): expected 1 or 0))
$(if $(filter 0 1,$(CUDART)),,$(error CUDART=$(CUDART): expected 1 or 0))

# The rows of a table leave out the members that are 0.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wno-missing-field-initializers
# Includes are written from src, in tests also from tests.
INCLUDES := -Iinclude -iquote src -iquote .
# The source folder's own name is in nothing that is built: the same sources give the same bytes.
COMPILE = $(CC) -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden -pthread $(INCLUDES) \
	-ffile-prefix-map=$(CURDIR)=. $(MODE_$(MODE)) $(CPPFLAGS) $(CFLAGS) $(EXTRA) -MMD -MP
# What is cached is only good for the build that made it, which its id tells.
LINK = $(CC) -pthread $(MODE_$(MODE)) $(CFLAGS) -Wl,--build-id $(LDFLAGS)
# A sanitizer's runtime belongs to the program: there a library may have undefined symbols.
SHARED = $(LINK) -shared -Wl,-Bsymbolic-functions $(if $(filter asan ubsan tsan fuzz,$(MODE)),,-Wl,-z,defs)
LIBS += -ldl -lm
OBJCOPY ?= objcopy

objects = $(patsubst %.c,$(BUILD)/%.o,$1)
say = $(if $(filter 1,$(V)),,@printf '  %-5s %s\n' $1 $(@:$(BUILD)/%=%);)
# $(call rewrite,COMMAND): the target holds what COMMAND prints; untouched if it does already.
# Rules that use it for files of flags run under `make -n`, too, which can then tell what would be
# built.
rewrite = @mkdir -p $(@D); new=$@.$$$$; $1 >$$new && \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
print = printf '%s\n' '$(subst ','\'',$1)'

include make/lib.mk

# --- Building ------------------------------------------------------------------------------------

cpu-driver := $(if $(filter 0,$(CPU)),,libkudzu-cpu.so libkudzu-cpu-llvm.so)
cpu-names := $(if $(cpu-driver),kudzu-cpu/libcuda.so.1 kudzu-cpu/libcuda.so)
cpu-link := $(if $(cpu-driver),kudzu-cpu/stubs/libcuda.so)
cudart := $(if $(filter 00 01 10,$(CPU)$(CUDART)),,$(addprefix kudzu-cpu/,\
	libcudart.so.12 libcudart.so.13 libcudart_static.a cuda12/libcudart_static.a))
# Libraries in front of NVIDIA's, with the major versions that there are, and the loader's auditor
# that puts them there.
cpu-front := $(if $(cpu-driver),$(addprefix kudzu-cpu/front/,\
	$(addprefix libnvrtc.so.,11 12 13) $(addprefix libnvJitLink.so.,12 13)))
cpu-dropin := $(if $(cpu-driver),$(cpu-front) kudzu-cpu/libkudzu-audit.so \
	kudzu-cpu/libnvidia-ml.so.1 kudzu-cpu/bin/nvcc)

.PHONY: FORCE all lib run clean
all: lib $(BUILD)/kudzu ## build the libraries and the program (the default)
lib: $(addprefix $(BUILD)/,libkudzu.so libkudzu.a $(cpu-driver) $(cpu-names) $(cpu-link) $(cudart) $(cpu-dropin)) ## build the libraries

$(BUILD)/config: FORCE
	+$(call rewrite,$(call print,$(COMPILE) | $(LINK)))
$(BUILD)/llvm.config: FORCE
	+$(call rewrite,$(call print,$(CC) | $(LLVM_CONFIG) | $(LLVM_LINK)))
$(BUILD)/folders.flags: FORCE
	+$(call rewrite,$(call print,-DKZ_LIBDIR=\"$(LIBDIR)\" -DKZ_WITH_CPU=$(CPU)))
$(BUILD)/cuda.flags: FORCE
	+$(call rewrite,NVRTC='$(NVRTC)' .ci/find-cuda --flags)
$(BUILD)/llvm.flags $(BUILD)/llvm.libs &: $(BUILD)/llvm.config .ci/find-llvm
	@config=$$(LLVM_CONFIG='$(LLVM_CONFIG)' .ci/find-llvm) && \
	echo "-isystem $$($$config --includedir)" >$(BUILD)/llvm.flags && \
	$$config --link-shared --ldflags --libs core orcjit native passes >$(BUILD)/llvm.libs
$(BUILD)/llvm.part: $(BUILD)/llvm.libs .ci/llvm-part
	@CC='$(CC)' .ci/llvm-part "$$(LLVM_CONFIG='$(LLVM_CONFIG)' .ci/find-llvm)" $(LLVM_LINK) >$@
# What a library is made of, so that it is linked anew when a file is gone.
$(BUILD)/%.sources: FORCE
	+$(call rewrite,$(call print,$(SOURCES_$*)))

$(BUILD)/%.o: %.c $(BUILD)/config
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -c -o $@ $<

# nodelete: drivers do not survive dlclose, so they and the cache's folder are kept; what knows of
# them must stay too, for the next dlopen to find them.
$(BUILD)/libkudzu.so.$(VERSION): $(call objects,$(SOURCES_kudzu)) $(BUILD)/kudzu.sources src/lib/kudzu.map
	$(call say,LD)$(SHARED) -Wl,-soname,libkudzu.so.$(SOVERSION) -Wl,-z,nodelete \
		-Wl,--version-script=src/lib/kudzu.map -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/libkudzu.so: $(BUILD)/libkudzu.so.$(VERSION)
	@ln -sf libkudzu.so.$(VERSION) $(BUILD)/libkudzu.so.$(SOVERSION)
	@ln -sf libkudzu.so.$(SOVERSION) $@
# One object, whose code is in one section.
$(BUILD)/kudzu.o: $(call objects,$(SOURCES_kudzu)) $(BUILD)/kudzu.sources make/text.ld
	$(call say,LD)$(LD) -r -T make/text.ld -o $@ $(filter %.o,$^)
# The internal names are made local: they cannot clash with those of a program.
$(BUILD)/libkudzu.a: $(BUILD)/kudzu.o
	@rm -f $@
	$(call say,AR)$(OBJCOPY) --localize-hidden $< $(BUILD)/libkudzu.o && \
		$(AR) rcsD $@ $(BUILD)/libkudzu.o
# nodelete: its worker threads run its code as long as there is a context.
$(BUILD)/libkudzu-cpu.so: $(call objects,$(SOURCES_cpu)) $(BUILD)/cpu.sources src/cpu/kudzu-cpu.map
	$(call say,LD)$(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/cpu/kudzu-cpu.map \
		-Wl,-z,nodelete -o $@ $(filter %.o,$^) $(LIBS)
# LLVM takes milliseconds to load, so it is in a library of its own, for kernels that are not
# cached.
$(BUILD)/libkudzu-cpu-llvm.so: $(call objects,$(SOURCES_llvm)) $(BUILD)/llvm.sources \
		$(BUILD)/llvm.part src/cpu/kudzu-cpu-llvm.map
	$(call say,LD)$(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/cpu/kudzu-cpu-llvm.map \
		-Wl,-z,nodelete -Wl,--wrap=__cxa_atexit -o $@ $(filter %.o,$^) @$(BUILD)/llvm.part $(LIBS)
# The same under the names of NVIDIA's driver, for `kudzu cpu`; links that hold in every PREFIX.
$(addprefix $(BUILD)/,$(cpu-names)): $(BUILD)/libkudzu-cpu.so
	@mkdir -p $(@D) && ln -sf ../libkudzu-cpu.so $@
# To link programs of the driver API with, where no driver is installed: the names, and soname, of
# NVIDIA's.
$(BUILD)/kudzu-cpu/stubs/libcuda.so: packaging/stub.c src/cpu/abi/exports.def $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) && $(CC) -shared -fPIC -w -iquote src -s \
		-Wl,-soname,libcuda.so.1 -o $@ $<
# The CUDA runtime, whose sources are compiled for CUDA 13 and, in a folder of their own, for 12.
cudart13 := $(call objects,$(SOURCES_cudart))
cudart12 := $(patsubst $(BUILD)/src/cudart/%,$(BUILD)/cudart12/src/cudart/%,$(cudart13))
$(BUILD)/cudart12/%.o: %.c $(BUILD)/config
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -c -o $@ $<
$(BUILD)/kudzu-cpu/libcudart.so.12: $(cudart12)
$(BUILD)/kudzu-cpu/libcudart.so.13: $(cudart13)
$(BUILD)/kudzu-cpu/libcudart.so.%: src/cudart/libcudart.%.map $(BUILD)/cudart.sources
	$(call say,LD)mkdir -p $(@D) && $(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=$< \
		-o $@ $(filter %.o,$^) $(LIBS)
# For programs that have their runtime in them: one object, whose internal names are local.
$(BUILD)/kudzu-cpu/cuda12/libcudart_static.a: $(cudart12)
$(BUILD)/kudzu-cpu/libcudart_static.a: $(cudart13)
$(addprefix $(BUILD)/kudzu-cpu/,libcudart_static.a cuda12/libcudart_static.a): $(BUILD)/cudart.sources
	@mkdir -p $(@D) && rm -f $@
	$(call say,AR)$(LD) -r -o $(@:.a=.o) $(filter %.o,$^) && \
		$(OBJCOPY) --localize-hidden $(@:.a=.o) && $(AR) rcsD $@ $(@:.a=.o) && rm $(@:.a=.o)
$(BUILD)/kudzu-cpu/libkudzu-audit.so: $(BUILD)/src/dropin/audit.o
	$(call say,LD)mkdir -p $(@D) && $(CC) -shared -nostartfiles -Wl,-soname,$(@F) -Wl,--build-id \
		-Wl,--as-needed -o $@ $<
# It finds the driver beside it, where it is opened by its path.
$(BUILD)/kudzu-cpu/libnvidia-ml.so.1: $(call objects,src/dropin/nvml.c $(SOURCES_base)) src/dropin/nvml.map
	$(call say,LD)mkdir -p $(@D) && $(SHARED) -Wl,-soname,$(@F) -Wl,--version-script=src/dropin/nvml.map \
		-Wl,-rpath,'$$ORIGIN' -Wl,--gc-sections -o $@ $(filter %.o,$^) $(LIBS)
$(BUILD)/kudzu-cpu/bin/nvcc: src/dropin/nvcc
	@install -D $< $@
# Each needs NVIDIA's library under a name that the auditor knows, and has its versions of symbols.
front-soname = $(if $(filter libnvrtc.so.11,$1),$1.2,$1)
$(addprefix $(BUILD)/,$(cpu-front)): $(BUILD)/kudzu-cpu/front/%: \
		$(call objects,src/dropin/front.c $(SOURCES_base)) $(BUILD)/config
	$(call say,LD)mkdir -p $(@D) $(BUILD)/src/dropin && real=$(BUILD)/src/dropin/kudzu-real-$* && \
		$(LINK) -shared -nostdlib -Wl,-soname,kudzu-real-$* -x c /dev/null -o $$real && \
		echo '$(call front-soname,$*) { global: nvrtc*; nvJitLink*; __nvJitLink*; local: *; };' \
			>$$real.map && \
		$(SHARED) -Wl,-soname,$(call front-soname,$*) -Wl,--version-script=$$real.map \
			-o $@ $(filter %.o,$^) -Wl,--no-as-needed $$real $(LIBS)
$(addprefix $(BUILD)/,$(filter kudzu-cpu/front/libnvrtc%,$(cpu-front))): $(BUILD)/src/dropin/nvrtc.o
$(addprefix $(BUILD)/,$(filter kudzu-cpu/front/libnvJitLink%,$(cpu-front))): \
	$(BUILD)/src/dropin/jitlink.o
# It finds its library in the build folder, and where both are installed, whether moved or not.
$(BUILD)/kudzu: $(call objects,$(SOURCES_command)) $(BUILD)/command.sources $(BUILD)/libkudzu.so
	$(call say,LD)$(LINK) -Wl,-rpath,'$$ORIGIN:$$ORIGIN/'"$$(realpath -m --relative-to=$(BINDIR) $(LIBDIR))" \
		-o $@ $(filter %.o,$^) -L$(BUILD) -lkudzu $(LIBS)

# Samples, examples and benchmarks are built as a user would build them.
sample-sources := $(wildcard samples/*.c samples/*.cpp)
SAMPLES := $(sort $(basename $(notdir $(sample-sources))))
# Programs whose text and output the pages of docs show.
example-sources := $(wildcard docs/examples/*.c docs/examples/*.cpp)
programs-of = $(patsubst %.$1,$(BUILD)/%,$(filter %.$1,$2))
c-programs := $(call programs-of,c,$(sample-sources) $(example-sources))
cxx-programs := $(call programs-of,cpp,$(sample-sources) $(example-sources))
sample-programs := $(SAMPLES:%=$(BUILD)/samples/%)
example-programs := $(filter $(BUILD)/docs/%,$(c-programs) $(cxx-programs))
ifeq ($(origin CXX),default)
CXX := $(if $(findstring clang,$(CC)),clang++,c++)
endif
# Some need packages that pkg-config finds, or a C++ compiler.  Where those are missing, a sample is
# left out: there is no program, but a file that says why.
packages =
needs = if $1; then rm -f $@.left-out; else rm -f $@; echo '$(strip $2)' >$@.left-out; exit 0; fi;
need-packages = $(if $(packages),$(call needs,pkg-config --exists $(packages),\
	pkg-config does not find $(packages)))
need-cxx = $(call needs,command -v $(CXX) >/dev/null,there is no C++ compiler ($(CXX)))
sample-flags = -Wall -Wextra -pedantic -Iinclude $(MODE_$(MODE)) $(CPPFLAGS)
sample-libs = $(if $(packages),$$(pkg-config --cflags --libs $(packages)))
sample-output = -MMD -MP -MF $@.d -o $@ $< $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/..:$$ORIGIN/../..' \
	-L$(BUILD) -lkudzu $(sample-libs) -lm
build-sample = $(call say,CC)mkdir -p $(@D) && $(need-packages) \
	$(CC) -std=c11 $(sample-flags) $(CFLAGS) $(sample-output)
$(c-programs): $(BUILD)/%: %.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample)
$(cxx-programs): $(BUILD)/%: %.cpp $(BUILD)/config $(BUILD)/libkudzu.so
	$(call say,CXX)mkdir -p $(@D); $(need-cxx) \
	$(CXX) -std=c++17 $(sample-flags) $(CXXFLAGS) $(sample-output)
$(addprefix $(BUILD)/samples/,31_mandelbrot 34_blur): packages = libpng
$(BUILD)/docs/examples/test_kernels: sample-libs = $(CHECK_LIBS)

# NVRTC from the wheels, where `make setup` put them; the user's own choice comes first.
wheel := build/nvrtc/nvidia/cu13/lib/libnvrtc.so.13
nvrtc = $(if $(wildcard $(wheel)),KUDZU_NVRTC="$${KUDZU_NVRTC-$(CURDIR)/$(wheel)}",$(if \
	$(filter wheel,$(NVRTC)),$(error no wheels in build/nvrtc: run `make setup NVRTC=wheel`)))
run: all $(sample-programs) ## build and run the samples
	@for sample in $(sample-programs); do \
		if [ -e $$sample ]; then echo "$$sample"; $(nvrtc) $$sample || exit 1; \
		else echo "left out: $$sample: $$(cat $$sample.left-out)"; fi; done
clean: ## remove what was built (build/nvrtc, build/nvrtcs and build/peers, from pip, stay)
	rm -rf $(filter-out build/nvrtc build/nvrtcs build/peers,$(wildcard build/*)) $(BUILD)

include make/test.mk make/bench.mk make/fuzz.mk make/install.mk make/site.mk

-include $(patsubst %.o,%.d,$(call objects,$(sort $(SOURCES_kudzu) $(SOURCES_cpu) $(SOURCES_llvm) \
	$(SOURCES_command) $(SOURCES_cudart) $(SOURCES_dropin) $(wildcard tests/*.c tests/*/*.c tests/*/*/*.c))))
-include $(cudart12:.o=.d)
-include $(addsuffix .d,$(sample-programs) $(example-programs) $(bench-programs) $(CITIZEN) $(HANDLES))

endif

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z][a-z-]*\)[ :].*## /\1\t/p' Makefile make/*.mk | expand -t 16
	@echo 'V=1 shows commands.  MODE=debug|release|asan|ubsan|tsan, CPU=0 (no LLVM), CUDART=0, LLVM_CONFIG=,'
	@echo 'LLVM_LINK=static|shared (of libkudzu-cpu-llvm.so; static needs the archives of LLVM and libstdc++),'
	@echo 'CC=, LD=, AR=, OBJCOPY=, CPPFLAGS=, CFLAGS=, LDFLAGS=, BUILD= (now $(BUILD)),'
	@echo 'PREFIX= (now $(PREFIX)), LIBDIR=, INCLUDEDIR=, BINDIR=, MANDIR=, DATADIR=, DESTDIR=.'
