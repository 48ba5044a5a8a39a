/* SPDX-License-Identifier: MIT */
/*
 * The program `kudzu`: finds the command in a table and runs it.
 *
 * A command sees its own words only.  --help, `kudzu help COMMAND` and too many words are handled
 * here, from the table, so that no command can forget them.
 */
#include "cli/cli.h"
#include "cli/words.h"

#include <kudzu/kudzu.h>

#include <limits.h>
#include <stdbool.h>
#include <string.h>

static cli_command help_main;

#define ANY_NUMBER -1

static const struct command {
	const char *name;
	cli_command *run;
	int max_arguments; /* ANY_NUMBER: they belong to the program that it names */
	const char *synopsis;
	const char *summary;
	const char *details;
} commands[] = {
{"bench", bench_main, INT_MAX, "bench [OPTION...] FILE [ARG...]",
	"time a kernel over block sizes and macros",
	"Compiles FILE, and launches one of its kernels many times with each of several blocks.\n"
	"Prints the median time of a launch, the quartiles, the fastest, and the speed as a share\n"
	"of what copies reach on this device in the same run.  The best configuration is first.\n"
	"Arguments are those of `kudzu run`.\n"
	"\n"
	"  -k, --kernel NAME             the kernel; 'f<float, 4>' makes an instance of a "
	"template\n"
	"  --size X[,Y[,Z]]              elements, by default those of the largest array; the "
	"grid\n"
	"                                has a thread for each\n"
	"  --grid X[,Y[,Z]]              blocks, whatever the block is\n"
	"  --block X[,Y[,Z]]             a block to try, as often as you like; else 32 to 1024,\n"
	"                                or 8,8 to 32,32 for a source with threadIdx.y\n"
	"  --try MACRO=TEXT[,TEXT...]    texts of a macro to try\n"
	"  --repeat N                    launches that are timed, by default 20\n"
	"  --bytes N                     bytes that a launch reads and writes; else the size of "
	"the\n"
	"                                arrays\n"
	"  --shared N                    bytes of dynamic shared memory\n"
	"  --json                        print JSON\n"
	"  --device NAME                 cpu, cuda, cuda:1; else the default\n"
	"  -I FOLDER, -D MACRO[=TEXT], -a, --arch ARCH, --std STD\n"
	"                                as for `kudzu compile`\n"
	"\n"
	"The exit status is 0; 1 if the file does not compile or no configuration works; 2 for a\n"
	"usage error, as for `kudzu run`.\n"},
{"cache", cache_main, INT_MAX, "cache list|stats|clear|why FILE",
	"inspect the cache of compiled kernels",
	"list: print each entry of the cache on disk: kind, bytes, last use, architecture, name.\n"
	"stats: print where the cache is, the size of each kind of entry, and the limit.\n"
	"clear: remove all entries, and the CUDA headers that NVRTC has written there.\n"
	"why [-I FOLDER]... [-D NAME=VALUE]... [--arch ARCH] [--std STD] [--name NAME] FILE:\n"
	"print whether the cache has FILE, compiled for the default device, and if not, how the\n"
	"most similar entry differs.\n"
	"\n"
	"The exit status is 0; 1 if the cache cannot be read, or if `why` finds no hit; 2 for a\n"
	"usage error, or a FILE that cannot be read.\n"},
{"compile", compile_main, INT_MAX, "compile [OPTION...] FILE...",
	"compile files ahead of time, in several processes, or to PTX and cubins",
	"Compiles each FILE into the cache for the default device, or the one that KUDZU_DEVICE\n"
	"names.  A program that later compiles the same source under the same file name finds\n"
	"the result there.  Errors and warnings go to standard error.\n"
	"\n"
	"  -o IMAGE         write the image of one FILE there; its name ends in .ptx, .cubin or\n"
	"                   .ltoir, which decides the kind\n"
	"  -a, --arch ARCH  compile for ARCH, sm_90, compute_75 or lto_90, without a device\n"
	"  -I FOLDER        search FOLDER for headers\n"
	"  -D MACRO[=TEXT]  define a macro\n"
	"  --std STD        c++11 to c++20\n"
	"  -j, --jobs N     use N processes, by default one for each core\n"
	"\n"
	"The exit status is 0 if all files compile; 1 if one does not; 2 for a usage error, or a\n"
	"FILE that cannot be read.\n"},
{"cpu", cpu_main, ANY_NUMBER, "cpu [OPTION...] [--] PROGRAM [ARG...]",
	"run a program of the CUDA driver API on the CPU",
	"Runs PROGRAM with the CPU device's driver in place of NVIDIA's, as the libcuda.so.1 that\n"
	"the program is linked with or opens.  Programs that use the driver API and have their\n"
	"kernels as PTX (from NVRTC, from `nvcc -ptx`, in fat binaries) run unchanged.  So do\n"
	"programs of the CUDA runtime that need libcudart.so: they get Kudzu's.  Those that have\n"
	"NVIDIA's runtime in them have to be linked anew, and the command says how.\n"
	"\n"
	"--devices N     N devices instead of one, at most 16: each has its own memory and an\n"
	"                equal share of the cores (KUDZU_CPU_DEVICES)\n"
	"--check[=LIST]  find bugs of its kernels (KUDZU_CHECK): memory, init, race, sync, or\n"
	"                all for these, and nan, int, coalesce, bank; without LIST memory\n"
	"--report FILE   write what --check finds to FILE: .xml for JUnit, else JSON\n"
	"\n"
	"The exit status is PROGRAM's; 127 if it does not exist, 126 if it cannot be run; with\n"
	"--check 3 if a bug was found, and 4 if the program did not open the CPU device.\n"},
{"debug", debug_main, ANY_NUMBER, "debug [OPTION...] FILE [ARG...]",
	"debug kernels with gdb",
	"Runs `kudzu run FILE ARG...` in gdb, which sees the kernels that the CPU device makes:\n"
	"breakpoints on their lines, steps, calls, variables.  In gdb, `help kudzu` lists the\n"
	"commands for blocks and threads.\n"
	"\n"
	"  kudzu debug [OPTION...] -- PROGRAM [ARG...]      a program that uses the library\n"
	"  kudzu debug [OPTION...] cpu -- PROGRAM [ARG...]  one of the driver API\n"
	"\n"
	"  -x FILE    gdb executes the commands in FILE first\n"
	"  --batch    gdb ends after that\n"
	"  --script   print the Python file that gdb reads, and do nothing else\n"
	"\n"
	"The exit status is gdb's; 127 if gdb is missing; 2 for a usage error, or a GPU, for\n"
	"which there is cuda-gdb.\n"},
{"doctor", doctor_main, 1, "doctor [--json]",
	"find out whether kernels can run here, and if not, why",
	"Checks drivers, devices, NVRTC, the CUDA headers, the CPU device, its LLVM and the cache\n"
	"folder.  Each line begins with `ok`, `--` (missing, but not needed here) or `!!` (does\n"
	"not work); the reason and the remedy follow.  The output is coloured on a terminal,\n"
	"unless NO_COLOR is set.  With --json the same is printed as JSON, where the verdicts\n"
	"are ok, note and problem.\n"
	"\n"
	"The exit status is 0 if kernels can be compiled and can run on the default device, or\n"
	"the one that KUDZU_DEVICE names, else 1.\n"},
{"dump", dump_main, INT_MAX, "dump [OPTION...] FILE",
	"show the code that the CPU device makes of a kernel",
	"Prints the code of the kernels of FILE, CUDA C++ or PTX, at one stage of compilation.\n"
	"\n"
	"  --stage STAGE    ptx: NVRTC's output (the default); llvm: LLVM IR after all passes;\n"
	"                   asm: the processor's code\n"
	"  -k, --kernel NAME\n"
	"                   only this kernel; 'f<float>' makes an instance of a template\n"
	"  -I FOLDER, -D MACRO[=TEXT], -a, --arch ARCH, --std STD\n"
	"                   as for `kudzu compile`\n"
	"\n"
	"The exit status is 0; 1 if FILE does not compile; 2 for a usage error, a FILE that\n"
	"cannot be read, or a kernel that it does not have.\n"},
{"explain", explain_main, INT_MAX, "explain CODE",
	"say what an error code means, and what to do about it",
	"Explains an error code of the CUDA driver, the CUDA runtime, NVRTC, nvJitLink, cuBLAS,\n"
	"cuSOLVER, cuFFT, cuRAND or NCCL, or a status of Kudzu.  CODE is a name, such as\n"
	"CUDA_ERROR_ILLEGAL_ADDRESS, cudaErrorIllegalAddress or KZ_FAULT, or a number, of which\n"
	"each library's meaning is printed.\n"
	"\n"
	"The exit status is 0; 1 if no library has the code; 2 for a usage error.\n"},
{"help", help_main, 1, "help [COMMAND]",
	"explain a command",
	"Without COMMAND, lists all commands.\n"},
{"info", info_main, 1, "info [DEVICE]",
	"print everything about the devices",
	"Prints for each device, or for DEVICE (cpu, cuda, cuda:1), its name, compute capability,\n"
	"driver, memory, PCI bus id, UUID, compute mode and peers, and the value of each "
	"attribute\n"
	"with the driver's number and name; `-` for one that the driver does not know.\n"
	"\n"
	"The exit status is 0; 1 if a device cannot be used; 2 for an unknown device.\n"},
{"new", new_main, 1, "new NAME",
	"make a small project that uses the library",
	"Makes a folder NAME with a C program that launches a kernel: Makefile, main.c,\n"
	"kernel.cu, README.md, and launch.json for VS Code.  NAME may be a path, whose last part\n"
	"is the program's name.\n"
	"\n"
	"  kudzu new demo && cd demo && make && ./demo\n"
	"\n"
	"The exit status is 0; 1 if the files cannot be written; 2 if NAME is not possible as the\n"
	"name of a program, or exists.\n"},
{"profile", profile_main, INT_MAX, "profile [-o FILE] PROFILE",
	"show where kernels spend their time, line by line",
	"Shows a profile that KUDZU_PROFILE=PROFILE has written, as a table: for each kernel the\n"
	"lines that took most of its time.\n"
	"\n"
	"  -o, --output FILE  write it to FILE, whose name decides the form: .html is the source\n"
	"                     with numbers beside it, .folded are stacks for tools that draw\n"
	"                     flame graphs, .txt is the table\n"
	"\n"
	"  KUDZU_PROFILE=p.json ./program && kudzu profile p.json -o p.html\n"
	"\n"
	"The exit status is 0; 1 if FILE cannot be written; 2 for a usage error, or a PROFILE\n"
	"that cannot be read.\n"},
{"run", run_main, INT_MAX, "run [OPTION...] FILE [ARG...]",
	"launch a kernel of a file, with arguments from the shell",
	"Compiles FILE (`-` is standard input; PTX and cubins are loaded), launches one of its\n"
	"kernels, and prints the arrays.  A file with one kernel needs no --kernel.  Without\n"
	"arguments the command lists the kernel's parameters, with a call to begin with.  Without\n"
	"--grid and --block there is one thread for each element of the largest array.\n"
	"\n"
	"  i32:5  f32:2.5  f32:1,2,3,4   a number of a type; a small vector (float4)\n"
	"  5  2.5  null                  a number of the parameter's type; no array\n"
	"  f32[16]  f64[8x8]=FILL        an array of zeros, or of FILL: arange, random, "
	"random:SEED,\n"
	"                                eye, empty (nothing writes it), one number for all, "
	"or as\n"
	"                                many as there are elements\n"
	"  @FILE.npy                     an array from a file\n"
	"\n"
	"Types are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128, e4m3 and e5m2.\n"
	"\n"
	"  -k, --kernel NAME             the kernel; 'f<float, 4>' makes an instance of a "
	"template\n"
	"  --grid X[,Y[,Z]]              blocks\n"
	"  --block X[,Y[,Z]]             threads of a block\n"
	"  --shared N                    bytes of dynamic shared memory\n"
	"  --cooperative                 run all blocks at once, for grid.sync()\n"
	"  --out NAME=FILE.npy           save the array of parameter NAME (or arg1, arg2, ...)\n"
	"  --plot NAME[=FILE.png]        draw an array in place of its numbers, or save a picture\n"
	"  --time N                      launch N more times, and print how long a launch takes\n"
	"  --schedules N                 run N times more, in the orders of the seeds 1 to N\n"
	"                                (KUDZU_CPU_SCHEDULE), and compare the results\n"
	"  --watch                       run again whenever FILE or a header of it changes\n"
	"  --device NAME                 cpu, cuda, cuda:1; else the default\n"
	"  --check[=LIST]                find bugs: memory, init, race, sync, or all for these,\n"
	"                                and nan, int, coalesce, bank; without LIST memory\n"
	"  --report FILE                 write what --check finds to FILE: .xml for JUnit,\n"
	"                                else JSON\n"
	"  --profile[=FILE]              print what each line of the kernel took; FILE ends in "
	".html,\n"
	"                                .folded, .txt or .json, see `kudzu help profile`\n"
	"  -I FOLDER, -D MACRO[=TEXT], -a, --arch ARCH, --std STD\n"
	"                                as for `kudzu compile`\n"
	"\n"
	"The exit status is 0; 1 if the file does not compile or the kernel fails; 2 for a usage\n"
	"error, a file that cannot be read, a kernel that the file does not have, arguments that\n"
	"it does not take, a grid that is not possible, or arrays that are too large; with\n"
	"--check 3 if it has found a bug, and 4 if it was not active; with --schedules 1 if a\n"
	"result differs.\n"},
{"worker", worker_main, 0, "worker",
	"compile for a program that warms up",
	"kz_warm_up and kz_tune start this command to compile many sources in several processes.\n"
	"It is not meant for the shell.\n"},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(*commands))

static const struct command *main_find_command(const char *name)
{
	struct suggestion suggestion = {.word = name};
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		if (strcmp(commands[i].name, name) == 0) {
			return &commands[i];
		}
		suggestion_offer(&suggestion, commands[i].name);
	}
	if (suggestion.name) {
		fprintf(stderr, "kudzu: unknown command '%s'; did you mean '%s'?\n", name,
			suggestion.name);
	} else {
		fprintf(stderr, "kudzu: unknown command '%s'; `kudzu --help` lists them\n", name);
	}
	return NULL;
}

static int main_print_help(void)
{
	printf("usage: kudzu COMMAND\n"
		"       kudzu --help | --version\n"
		"       kudzu --cflags --libs\n"
		"\n"
		"CUDA kernels at run time, from C, with or without a GPU.\n"
		"\n"
		"commands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		printf("  %-33s %s\n", commands[i].synopsis, commands[i].summary);
	}
	return CLI_OK;
}

static int main_explain(const struct command *command)
{
	printf("usage: kudzu %s\n\n%s", command->synopsis, command->details);
	return CLI_OK;
}

static int help_main(int argc, char **argv)
{
	if (argc == 1) {
		return main_print_help();
	}
	const struct command *command = main_find_command(argv[1]);
	return command ? main_explain(command) : CLI_USAGE;
}

static int main_print_version(void)
{
	printf("kudzu %s\n", kz_version_string());
	return CLI_OK;
}

static int main_run_command(int argc, char **argv)
{
	const struct command *command = main_find_command(argv[0]);
	if (!command) {
		return CLI_USAGE;
	}
	bool foreign = command->max_arguments == ANY_NUMBER;
	for (int i = 1; i < (foreign && argc > 2 ? 2 : argc); i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			return main_explain(command);
		}
	}
	if (!foreign && argc - 1 > command->max_arguments) {
		fprintf(stderr, "kudzu %s: unexpected argument '%s'\n", command->name,
			argv[command->max_arguments + 1]);
		return CLI_USAGE;
	}
	return command->run(argc, argv);
}

static int main_dispatch(int argc, char **argv)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{"cflags", no_argument, NULL, 'c'},
		{"libs", no_argument, NULL, 'l'},
		{NULL, 0, NULL, 0},
	};
	static char name[] = "kudzu";
	argv[0] = name; /* getopt's messages begin with it */
	for (int i = 1; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		if (!words_check_long(name, argv[i], options)) {
			return CLI_USAGE;
		}
	}
	bool compile = false, link = false;
	/* "+": stop at the command; the words after it are its own. */
	for (int option; (option = getopt_long(argc, argv, "+hV", options, NULL)) != -1;) {
		switch (option) {
		case 'h':
			return main_print_help();
		case 'V':
			return main_print_version();
		case 'c':
			compile = true;
			break;
		case 'l':
			link = true;
			break;
		default:
			return CLI_USAGE;
		}
	}
	if ((compile || link) && optind < argc) {
		fprintf(stderr, "kudzu: unexpected argument '%s'\n", argv[optind]);
		return CLI_USAGE;
	}
	if (compile || link) {
		return flags_print(compile, link);
	}
	if (optind == argc) {
		fprintf(stderr, "kudzu: no command given; `kudzu --help` lists them\n");
		return CLI_USAGE;
	}
	return main_run_command(argc - optind, argv + optind);
}

int main(int argc, char **argv)
{
	int status = main_dispatch(argc, argv);
	/* Output that could not be written is a failure, as in `kudzu doctor >/dev/full`. */
	if (fflush(stdout) || ferror(stdout)) {
		perror("kudzu: standard output");
		return status == CLI_OK ? CLI_FAILED : status;
	}
	return status;
}
