# SPDX-License-Identifier: MIT
#
# The benchmarks, and the report of a machine with a GPU.

BENCHES := $(patsubst bench/%.c,%,$(wildcard bench/bench_*.c))
bench-programs := $(BENCHES:%=$(BUILD)/bench/%)

$(bench-programs): $(BUILD)/bench/%: bench/%.c $(BUILD)/config $(BUILD)/libkudzu.so
	$(build-sample) $(LIBS)
# The store is inside the library.
$(BUILD)/bench/bench_cache: $(call objects,$(SOURCES_base))
$(BUILD)/bench/bench_cache: private CPPFLAGS += -iquote src
$(BUILD)/bench/bench_cache: private LDFLAGS += $(call objects,$(SOURCES_base))
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
# Kudzu's worker of bench_peers, and jitify's: JITIFY_INCLUDE is the folder that has jitify2.hpp.
$(BUILD)/bench/peers_kudzu.o: bench/peers_kudzu.c bench/peers.h bench/bench.h $(BUILD)/config
	$(call say,CC)mkdir -p $(@D) && $(CC) -std=gnu11 -Wall -Wextra -Iinclude $(MODE_$(MODE)) -c -o $@ $<
$(BUILD)/bench/bench_peers: $(BUILD)/bench/peers_kudzu.o $(if $(JITIFY_INCLUDE),$(BUILD)/bench/peers_jitify)
$(BUILD)/bench/bench_peers: private LDFLAGS += $(BUILD)/bench/peers_kudzu.o
$(BUILD)/bench/peers_jitify: bench/peers_jitify.cpp bench/peers.h $(BUILD)/config $(BUILD)/cuda.flags
	$(call say,CXX)mkdir -p $(@D) && $(CXX) -std=c++17 -O2 -Wall -isystem $(JITIFY_INCLUDE) \
		@$(BUILD)/cuda.flags -o $@ $< -ldl

# What bench_peers compares with: a Python of its own, with what pip has.  PyCUDA is built from
# source.
PEERS ?= numpy pycuda cuda-core cuda-bindings cupy-cuda13x
.PHONY: setup-peers
setup-peers: ## install PyCUDA, cuda.core and CuPy into build/peers, for bench_peers
	cuda=$$(.ci/find-cuda) && python3 -m venv build/peers && \
		CUDA_ROOT="$$cuda" PATH="$$PATH:$$cuda/bin" build/peers/bin/pip install -q $(PEERS)

# The figures as JSON lines are in BUILD/bench.ndjson.
.PHONY: bench bench-cpu bench-comm bench-checks bench-peers gpu-report
bench: all $(bench-programs) $(BUILD)/libcuda-stub.so ## the benchmarks that need no GPU, as tables
	@$(nvrtc) KUDZU_CACHE=0 bench/run.sh $(BUILD) >$(BUILD)/bench.ndjson
	@bench/table.sh $(BUILD)/bench.ndjson
bench-cpu: all $(bench-programs) $(BUILD)/libcuda-stub.so ## kernels and launches on the CPU device, in minutes
	@$(nvrtc) KUDZU_CACHE=0 bench/run.sh $(BUILD) cpu >$(BUILD)/bench-cpu.ndjson
	@bench/table.sh $(BUILD)/bench-cpu.ndjson
bench-comm: all $(BUILD)/bench/bench_comm ## collectives over CPU devices, beside MPI, in a minute
	@$(nvrtc) bench/comm.sh $(BUILD)
bench-checks: all $(BUILD)/bench/bench_cpu ## what KUDZU_CHECK costs: each check over none, in a minute
	@$(nvrtc) KUDZU_CACHE=0 $(BUILD)/bench/bench_cpu -p -r 3 '' kudzu,memory,init,race,sync |\
		sed -nE 's|^."case":"cpu: (.*)","what":"([a-z]*/kudzu)".*"median":([^,}]*).*|\2\t\3\t\1|p'
bench-peers: all $(BUILD)/bench/bench_peers ## compiles, launches, copies beside PyCUDA and others (make setup-peers)
	@$(nvrtc) bench/run.sh $(BUILD) peers >$(BUILD)/bench-peers.ndjson
	@bench/table.sh $(BUILD)/bench-peers.ndjson
gpu-report: all $(sample-programs) $(bench-programs) $(addprefix $(BUILD)/,check_kudzu check_driver suites libcuda-stub.so) \
		$(BUILD)/libcufft-stub.so $(BUILD)/libnccl-stub.so $(FEW) $(DROPIN) $(corpus-ptx) ## tests, compute-sanitizer and benchmarks on a GPU
	@$(nvrtc) bench/gpu_report.sh $(BUILD)
# Its script has no make to ask.
$(BUILD)/suites: FORCE
	$(call rewrite,{ printf 'library %s\n' $(filter-out $(SUITES_host),$(SUITES_kudzu)); \
		printf 'driver %s\n' $(SUITES_driver); })
