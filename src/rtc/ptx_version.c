/* SPDX-License-Identifier: MIT */
/* The table of "Release History" in NVIDIA's document on the PTX ISA, from CUDA 9 on. */
#include "base/common.h"

#include "rtc/ptx_version.h"

#include "rtc/ptx_text.h"

#include <stdlib.h>

static const struct ptx_release releases[] = {
	{60, 9000, 384}, {61, 9010, 387}, {62, 9020, 396},
	{63, 10000, 410}, {64, 10010, 418}, {65, 10020, 440},
	{70, 11000, 450}, {71, 11010, 455}, {72, 11020, 460}, {73, 11030, 465}, {74, 11040, 470},
	{75, 11050, 495}, {76, 11060, 510}, {77, 11070, 515}, {78, 11080, 520},
	{80, 12000, 525}, {81, 12010, 530}, {82, 12020, 535}, {83, 12030, 545}, {84, 12040, 550},
	{85, 12050, 555}, {86, 12070, 565}, {87, 12080, 570}, {88, 12090, 575},
	{90, 13000, 580}, {91, 13010, 590},
};

int ptx_version_of(const char *text)
{
	struct ptx_token token = ptx_next_token(&text);
	char *end;
	if (!ptx_token_is(&token, ".version")) {
		return 0;
	}
	token = ptx_next_token(&text);
	long major = strtol(token.text, &end, 10);
	long minor = *end == '.' ? strtol(end + 1, &end, 10) : 0;
	bool good = end == token.text + token.len && major > 0 && major < 100 && minor >= 0
		&& minor < 10;
	return good ? (int)(major * 10 + minor) : 0;
}

const struct ptx_release *ptx_release_of(int ptx)
{
	for (size_t i = 0; i < countof(releases); i++) {
		if (releases[i].ptx == ptx) {
			return &releases[i];
		}
	}
	return NULL;
}

int ptx_version_of_driver(int cuda)
{
	int newest = 0;
	for (size_t i = 0; i < countof(releases) && releases[i].cuda <= cuda; i++) {
		newest = releases[i].ptx;
	}
	return newest;
}
