/* SPDX-License-Identifier: MIT */
/*
 * The functions of libtinfo by which LLVM asks whether the terminal has colours.  Our driver prints
 * nothing through LLVM, so they say that the terminal is unknown.  LLVM's part of the driver then
 * does not need libtinfo, which machines that only run programs may lack.
 */
#include "base/common.h"

int setupterm(const char *name, int file, int *error);
int tigetnum(const char *capability);
void *set_curterm(void *terminal);
int del_curterm(void *terminal);

#define TERMINAL_FAILED (-1)

int setupterm(const char *name, int file, int *error)
{
	(void)name;
	(void)file;
	if (error) {
		*error = TERMINAL_FAILED;
	}
	return TERMINAL_FAILED;
}

int tigetnum(const char *capability)
{
	(void)capability;
	return TERMINAL_FAILED;
}

void *set_curterm(void *terminal)
{
	return terminal;
}

int del_curterm(void *terminal)
{
	(void)terminal;
	return TERMINAL_FAILED;
}
