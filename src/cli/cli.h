/* SPDX-License-Identifier: MIT */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include <stdbool.h>

/* The commands of `kudzu`: one function and one file each, listed in main.c. */

/* What the program returns to the shell. */
enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1, /* the answer is no, or no answer is possible */
	CLI_USAGE = 2,  /* the question was wrong */
	CLI_REPORTS = 3, /* a check has found something */
	CLI_INACTIVE = 4, /* the check was not active, so it says nothing */
	CLI_CANNOT_RUN = 126, /* as shells have it: the program is there, and does not run */
	CLI_NOT_FOUND = 127   /* there is no such program */
};

/* Print the flags of the compiler, of the linker, or both: `kudzu --cflags --libs`. */
int flags_print(bool compile, bool link);

/* Run a command; argv[0] is its name. */
typedef int cli_command(int argc, char **argv);

cli_command bench_main;
cli_command cache_main;
cli_command compile_main;
cli_command cpu_main;
cli_command debug_main;
cli_command doctor_main;
cli_command dump_main;
cli_command explain_main;
cli_command info_main;
cli_command new_main;
cli_command profile_main;
cli_command run_main;
cli_command worker_main;

#endif
