/* SPDX-License-Identifier: MIT */
/*
 * Conway's Game of Life in the terminal, on a torus.  It teaches how a simulation keeps its state
 * on the device: a kernel with one thread for each cell reads one array and writes the other, the
 * program exchanges the two, and only what is shown is copied to the host.
 *
 * usage: 32_life [GENERATIONS]
 *
 * The first cells are Gosper's gun, which sends out a glider every 30 generations: from 36 cells it
 * grows by 5 each time.  In a terminal the generations are a film, else the last one is printed.
 */
#define _POSIX_C_SOURCE 199309L
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { WIDTH = 78, HEIGHT = 46, PERIOD = 30 };

typedef unsigned char cells[HEIGHT][WIDTH];

static const char source[] =
	"__global__ void live(const unsigned char *now, unsigned char *next, int width,\n"
	"	int height)\n"
	"{\n"
	"	int x = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	int y = blockIdx.y * blockDim.y + threadIdx.y;\n"
	"	if (x >= width || y >= height) {\n"
	"		return;\n"
	"	}\n"
	"	int neighbours = -now[y * width + x];\n"
	"	for (int dy = height - 1; dy <= height + 1; dy++) {\n"
	"		for (int dx = width - 1; dx <= width + 1; dx++) {\n"
	"			neighbours += now[(y + dy) % height * width + (x + dx) % width];\n"
	"		}\n"
	"	}\n"
	"	next[y * width + x] = neighbours == 3 || (neighbours == 2 && now[y * width + x]);\n"
	"}\n";

static const char *const gun[] = {
	"........................O",
	"......................O.O",
	"............OO......OO............OO",
	"...........O...O....OO............OO",
	"OO........O.....O...OO",
	"OO........O...O.OO....O.O",
	"..........O.....O.......O",
	"...........O...O",
	"............OO",
};

static void begin(cells c)
{
	memset(c, 0, sizeof(cells));
	for (size_t y = 0; y < sizeof(gun) / sizeof(gun[0]); y++) {
		for (size_t x = 0; gun[y][x] != '\0'; x++) {
			c[y + 1][x + 1] = gun[y][x] == 'O';
		}
	}
}

static int count(cells c)
{
	int sum = 0;
	for (int i = 0; i < HEIGHT * WIDTH; i++) {
		sum += ((const unsigned char *)c)[i];
	}
	return sum;
}

/* Two rows of cells are a line of half blocks; a line of dashes is below. */
static void draw(cells c)
{
	static const char *const blocks[] = {" ", "\u2580", "\u2584", "\u2588"};
	for (int y = 0; y < HEIGHT; y += 2) {
		int end = WIDTH;
		while (end > 0 && !c[y][end - 1] && !c[y + 1][end - 1]) {
			end--;
		}
		for (int x = 0; x < end; x++) {
			fputs(blocks[c[y][x] + 2 * c[y + 1][x]], stdout);
		}
		puts(isatty(STDOUT_FILENO) ? "\033[K" : "");
	}
	for (int x = 0; x < WIDTH; x++) {
		putchar('-');
	}
	putchar('\n');
}

/* Show a generation of the film, 20 each second, above the place where the next one begins. */
static void show(kz_array *now, int generation)
{
	static cells c;
	const struct timespec pause = {0, 50 * 1000 * 1000};
	CHECK(kz_array_get(now, c, sizeof(c), &err));
	printf("\033[Hgeneration %d, %d cells\033[K\n", generation, count(c));
	draw(c);
	fflush(stdout);
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	const int generations = argc > 1 ? atoi(argv[1]) : 4 * PERIOD;
	const int film = isatty(STDOUT_FILENO);
	static cells c;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *live = NULL;
	kz_array *now = NULL, *next = NULL;

	begin(c);
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&live, mod, "live", &err));
	CHECK(kz_array_from(&now, dev, KZ_FROM(c), &err));
	CHECK(kz_array_like(&next, now, &err));
	if (film) {
		printf("\033[2J");
	}
	for (int g = 0; g <= generations; g++) {
		if (film) {
			show(now, g);
		} else if (g % PERIOD == 0) {
			int64_t alive = 0;
			CHECK(kz_count_nonzero_get(&alive, now, &err));
			printf("generation %d: %d cells\n", g, (int)alive);
		}
		if (g < generations) {
			CHECK(kz_launch_2d(live, WIDTH, HEIGHT, NULL, &err,
				KZ_ARGS(now, next, WIDTH, HEIGHT)));
			kz_array *swap = now;
			now = next;
			next = swap;
		}
	}
	if (!film) {
		CHECK(kz_array_get(now, c, sizeof(c), &err));
		draw(c);
	}
	kz_release_all(next, now, mod, dev);
	return 0;
}
