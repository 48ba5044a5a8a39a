/* SPDX-License-Identifier: MIT */
/*
 * A network of 4, 8, 9 and 3 learns to tell irises apart, after a course on PyTorch: the same
 * weights, rows, loss and optimizer, so the same losses.  The training is one launch of a block: in
 * each epoch a thread has a row, then a weight.  `--plot FILE.svg` draws the losses.
 */
#include "iris.h"
#include "plot.h"
#include <kudzu/kudzu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { TESTED = 30, PARAMS = 151, EPOCHS = 100 };

static const char source[] =
	"enum { TESTED = 30, TRAINED = 120, PARAMS = 151, EPOCHS = 100 };\n"
	"constexpr int size[] = {4, 8, 9, 3}, begin[] = {0, 40, 121}; "
	"/* where W, then b, begins */\n"
	"__device__ float rows[150][4], w[PARAMS], losses[EPOCHS];\n"
	"__device__ int kinds[150], found[TESTED];\n"
	"struct sample { float in[4][10], d[4][9], loss; }; /* in[l]: of layer l; "
	"d: loss by in */\n"
	"__device__ int forward(sample *s, int row)\n"
	"{\n"
	"	for (int i = 0; i < 4; i++) s->in[0][i] = rows[row][i];\n"
	"	for (int l = 0; l < 3; l++) {\n"
	"		const float *W = w + begin[l], *b = W + size[l] * size[l + 1];\n"
	"		for (int o = 0; o < size[l + 1]; o++) {\n"
	"			float sum = b[o];\n"
	"			for (int i = 0; i < size[l]; i++) sum += *W++ * s->in[l][i];\n"
	"			s->in[l + 1][o] = l < 2 ? fmaxf(sum, 0) : sum;\n"
	"		}\n"
	"		s->in[l][size[l]] = 1; /* what the bias is multiplied with */\n"
	"	}\n"
	"	const float *z = s->in[3];\n"
	"	return z[2] > z[0] && z[2] > z[1] ? 2 : z[1] > z[0];\n"
	"}\n"
	"__device__ void backward(sample *s, int kind)\n"
	"{\n"
	"	float *z = s->in[3], total = expf(z[0]) + expf(z[1]) + expf(z[2]);\n"
	"	s->loss = logf(total) - z[kind];\n"
	"	for (int o = 0; o < 3; o++) s->d[3][o] = (expf(z[o]) / total - (o == kind)) / "
	"TRAINED;\n"
	"	for (int l = 2; l > 0; l--) {\n"
	"		for (int i = 0; i < size[l]; i++) {\n"
	"			const float *W = w + begin[l] + i, *d = s->d[l + 1];\n"
	"			float sum = 0;\n"
	"			for (int o = 0; o < size[l + 1]; "
	"o++) sum += W[o * size[l]] * d[o];\n"
	"			s->d[l][i] = s->in[l][i] > 0 ? sum : 0;\n"
	"		}\n"
	"	}\n"
	"}\n"
	"__global__ void fit()\n"
	"{\n"
	"	__shared__ sample s[TRAINED];\n"
	"	int t = threadIdx.x, l = (t >= begin[1]) + (t >= begin[2]), k = t - begin[l];\n"
	"	int bias = k - size[l] * size[l + 1];\n"
	"	int o = bias < 0 ? k / size[l] : bias, i = bias < 0 ? k % size[l] : size[l];\n"
	"	float m = 0, v = 0;\n"
	"	for (int step = 1; step <= EPOCHS; step++) {\n"
	"		float g = 0, loss = 0;\n"
	"		if (t < TRAINED) {\n"
	"			forward(&s[t], TESTED + t);\n"
	"			backward(&s[t], kinds[TESTED + t]);\n"
	"		}\n"
	"		__syncthreads();\n"
	"		for (int r = 0; r < TRAINED; r++) g += s[r].d[l + 1][o] * s[r].in[l][i];\n"
	"		m += 0.1f * (g - m); /* Adam, lr = 0.01 */\n"
	"		v += 0.001f * (g * g - v);\n"
	"		w[t] -= 0.01f * m / (1 - powf(0.9f, step))\n"
	"			/ (sqrtf(v / (1 - powf(0.999f, step))) + 1e-8f);\n"
	"		for (int r = 0; t == 0 && r < TRAINED; r++) loss += s[r].loss;\n"
	"		if (t == 0) losses[step - 1] = loss / TRAINED;\n"
	"		__syncthreads();\n"
	"	}\n"
	"	if (t < TESTED) found[t] = forward(&s[t], t);\n"
	"}\n";

static double now_ms(void)
{
	struct timespec now;
	timespec_get(&now, TIME_UTC);
	return 1e3 * (double)now.tv_sec + 1e-6 * (double)now.tv_nsec;
}

/* torch.manual_seed(32), nn.Linear: W and b of [-1/sqrt(inputs), 1/sqrt(inputs)) */
static void draw_weights(float *w)
{
	static const int count[] = {8 * (4 + 1), 9 * (8 + 1), 3 * (9 + 1)};
	static const float bound[] = {1 / 2.f, 1 / 2.82842712f, 1 / 3.f};
	kz_mt19937 rng;
	kz_mt19937_init(&rng, 32);
	for (int l = 0; l < 3; w += count[l++]) {
		kz_mt19937_torch_uniform_f32(w, &rng, count[l], -bound[l], bound[l]);
	}
}

int main(int argc, char **argv)
{
	float rows[IRIS_ROWS][IRIS_COLUMNS], w[PARAMS], losses[EPOCHS];
	int32_t kinds[IRIS_ROWS], found[TESTED], right = 0;
	kz_device *dev = NULL;
	kz_module *mod = NULL;
	kz_kernel *fit = NULL;
	iris_split(rows, kinds, 33);
	double begin = now_ms();
	CHECK(kz_device_open(&dev, NULL, &err));
	CHECK(kz_module_compile(&mod, dev, source, NULL, &err));
	CHECK(kz_module_kernel(&fit, mod, "fit", &err));
	CHECK(kz_module_set_global(mod, "rows", rows, sizeof(rows), &err));
	CHECK(kz_module_set_global(mod, "kinds", kinds, sizeof(kinds), &err));
	for (int run = 0; run < 2; run++, begin = now_ms()) {
		draw_weights(w);
		CHECK(kz_module_set_global(mod, "w", w, sizeof(w), &err));
		CHECK(kz_launch(fit, KZ_DIM(1), KZ_DIM(PARAMS), NULL, &err, KZ_ARGS()));
		CHECK(kz_module_get_global(mod, "losses", losses, sizeof(losses), &err));
		CHECK(kz_module_get_global(mod, "found", found, sizeof(found), &err));
		fprintf(stderr, "%s, %s: %.3f ms\n", kz_device_name(dev), run ? "warm" : "cold",
			now_ms() - begin);
	}
	for (int i = 0; i < EPOCHS; i += 10) {
		printf("epoch: %2d  loss: %10.8f\n", i + 1, losses[i]);
	}
	for (int i = 0; i < TESTED; i++) {
		right += found[i] == kinds[i];
	}
	printf("right: %d of %d held-out rows\n", right, TESTED);
	kz_release_all(mod, dev);
	return argc == 3 && strcmp(argv[1], "--plot") == 0
		&& plot_write(argv[2], &(struct plot){"loss", 0, EPOCHS, 1, losses, EPOCHS});
}
