/* SPDX-License-Identifier: MIT */
/*
 * Link PTX at run time, the way the driver's own examples and JIT libraries do: options with log
 * buffers, a file and a text that uses what the file defines; then a link that must fail, whose log
 * is read.
 * usage: link PTX
 */
#include "driver.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

static char caller[] = HEAD
	".extern .const .align 4 .u32 bias;\n"
	".visible .entry read_bias(.param .u64 p)\n"
	"{\n"
	"	.reg .b64 %rd<3>;\n"
	"	.reg .b32 %r<3>;\n"
	"	ld.param.u64 %rd1, [p];\n"
	"	ld.const.u32 %r1, [bias];\n"
	"	add.u32 %r2, %r1, 100;\n"
	"	st.global.u32 [%rd1], %r2;\n"
	"	ret;\n"
	"}\n";

static char info[4096], error[4096];
static float wall_time;

static CUlinkState create(void)
{
	static CUjit_option options[6];
	static void *values[6];
	CUlinkState state;
	options[0] = CU_JIT_WALL_TIME;
	options[1] = CU_JIT_INFO_LOG_BUFFER;
	values[1] = info;
	options[2] = CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES;
	values[2] = (void *)sizeof(info);
	options[3] = CU_JIT_ERROR_LOG_BUFFER;
	values[3] = error;
	options[4] = CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES;
	values[4] = (void *)sizeof(error);
	options[5] = CU_JIT_LOG_VERBOSE;
	values[5] = (void *)1;
	memset(error, 0, sizeof(error));
	check(cuLinkCreate(6, options, values, &state));
	memcpy(&wall_time, &values[0], sizeof(wall_time));
	return state;
}

static void run(CUmodule module)
{
	CUfunction kernel, count;
	CUdeviceptr at, bias;
	size_t size;
	unsigned value = 0, seven = 7;
	check(cuModuleGetFunction(&kernel, module, "read_bias"));
	check(cuModuleGetFunction(&count, module, "count"));
	check(cuModuleGetGlobal(&bias, &size, module, "bias"));
	check(cuMemcpyHtoD(bias, &seven, size));
	check(cuMemAlloc(&at, sizeof(value)));
	void *parameters[] = {&at};
	check(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
	check(cuMemcpyDtoH(&value, at, sizeof(value)));
	check(cuMemFree(at));
	if (value != 107) {
		fprintf(stderr, "read %u\n", value);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	CUcontext context;
	CUmodule module;
	CUlinkState state;
	void *image;
	size_t size;
	if (argc != 2) {
		return 2;
	}
	check(cuInit(0));
	check(create_context(&context, CU_CTX_SCHED_BLOCKING_SYNC, 0));
	char *text = read_file(argv[1]);
	state = create();
	check(cuLinkAddData(state, CU_JIT_INPUT_PTX, text, strlen(text) + 1, "kernels.ptx", 0, NULL,
		NULL));
	check(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof(caller), "caller.ptx", 0, NULL,
		NULL));
	check(cuLinkComplete(state, &image, &size));
	check(cuModuleLoadData(&module, image));
	check(cuLinkDestroy(state));
	free(text);
	run(module);

	state = create();
	check(cuLinkAddData(state, CU_JIT_INPUT_PTX, caller, sizeof(caller), "caller.ptx", 0, NULL,
		NULL));
	if (cuLinkComplete(state, &image, &size) == CUDA_SUCCESS
	    || strstr(error, "Undefined reference to 'bias' in 'caller.ptx'") == NULL) {
		fprintf(stderr, "the missing symbol is not in the log: '%s'\n", error);
		return 1;
	}
	check(cuLinkDestroy(state));
	check(cuModuleUnload(module));
	check(cuCtxDestroy(context));
	puts("PASSED");
	return 0;
}
