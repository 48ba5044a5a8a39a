/* SPDX-License-Identifier: MIT */
/* A library that has the first two of cuFFT's functions, as a version that is too old for Kudzu. */
int cufftGetProperty(int what, int *value);
int cufftCreate(int *out);

int cufftGetProperty(int what, int *value)
{
	*value = 8 - what;
	return 0;
}

int cufftCreate(int *out)
{
	*out = 0;
	return 0;
}
