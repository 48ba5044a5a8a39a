/* SPDX-License-Identifier: MIT */
/* kudzu worker: compiles for a program that warms up; see kudzu/warm.h. */
#include "cli/cli.h"

#include <kudzu/kudzu.h>

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

int worker_main(int argc, char **argv)
{
	struct stat input;
	(void)argc;
	(void)argv;
	if (fstat(0, &input) != 0 || !S_ISSOCK(input.st_mode)) {
		fprintf(stderr, "kudzu worker: is started by kz_warm_up, with a socket as its input\n");
		return CLI_USAGE;
	}
	return kz_warm_up_serve(0) ? CLI_FAILED : CLI_OK;
}
