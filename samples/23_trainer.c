/* SPDX-License-Identifier: MIT */
/*
 * A trainer that takes a model and its batches to the first GPU if there is one: d2l.Trainer, at
 * the end of the chapter on GPUs of "Dive into Deep Learning".  It trains the model for irises of a
 * course on PyTorch, whose parameters move from the CPU to the GPU, three times: with what has to
 * be compiled, again, and with each epoch as one launch of a captured graph.  `--plot FILE.svg`
 * draws the trainer's board.
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

enum { TESTED = 30, TRAINED = IRIS_ROWS - TESTED, PARAMS = 151, LAYERS = 3, EPOCHS = 100 };

static const struct { const char *name; int inputs, outputs; float bound; } plan[LAYERS] = {
	{"fc1", 4, 8, 1 / 2.f}, {"fc2", 8, 9, 1 / 2.82842712f}, {"out", 9, 3, 1 / 3.f}};

/* Each of these is one array, so that a step of the optimizer is an expression; the weights and
 * biases of the layers are views of it. */
struct parameters {
	kz_array *all, *W[LAYERS], *b[LAYERS];
};

struct model {
	struct parameters value, gradient;
	kz_array *a[LAYERS], *d[LAYERS]; /* what a layer gives for the batch, and loss by that */
	kz_array *m, *v, *t;             /* of Adam, and the number of its step */
	kz_array *loss;
};

static void parameters_view(struct parameters *p)
{
	int64_t at = 0;
	for (int l = 0; l < LAYERS; l++) {
		const int64_t in = plan[l].inputs, out = plan[l].outputs;
		kz_array *flat = NULL;
		CHECK(kz_array_slice(&flat, p->all, KZ_AT(KZ_SLICE(at, at + out * in)), &err));
		CHECK(kz_array_reshape_view(&p->W[l], flat, KZ_SHAPE(out, in), &err));
		at += out * in;
		CHECK(kz_array_slice(&p->b[l], p->all, KZ_AT(KZ_SLICE(at, at + out)), &err));
		at += out;
		kz_array_release(flat);
	}
}

static void parameters_release(struct parameters *p)
{
	kz_array_release(p->all);
	for (int l = 0; l < LAYERS; l++) {
		kz_release_all(p->W[l], p->b[l]);
	}
}

/* torch.manual_seed(32); model = Model(): on the CPU */
static void model_create(struct model *model)
{
	float w[PARAMS];
	kz_device *cpu = NULL;
	kz_mt19937 rng;
	kz_mt19937_init(&rng, 32);
	for (int64_t l = 0, at = 0; l < LAYERS; l++) {
		const int64_t count = plan[l].outputs * (plan[l].inputs + 1);
		kz_mt19937_torch_uniform_f32(w + at, &rng, count, -plan[l].bound, plan[l].bound);
		at += count;
	}
	*model = (struct model){0};
	CHECK(kz_device_open(&cpu, "cpu", &err));
	CHECK(kz_array_from(&model->value.all, cpu, KZ_F32, KZ_SHAPE(PARAMS), w, sizeof(w), &err));
	kz_device_close(cpu);
}

static void model_print(void)
{
	printf("Model(\n");
	for (int l = 0; l < LAYERS; l++) {
		printf("  (%s): Linear(in_features=%d, out_features=%d, bias=True)\n",
			plan[l].name, plan[l].inputs, plan[l].outputs);
	}
	printf(")\n");
}

/* next(model.parameters()).is_cuda */
static void model_print_place(const struct model *model)
{
	kz_device *dev = kz_array_device(model->value.all);
	printf("%s\n", kz_device_is_cuda(dev) ? "True" : "False");
}

/* model.to(dev), and the arrays that its training needs there */
static void model_to(struct model *model, kz_device *dev)
{
	kz_array *there = NULL;
	CHECK(kz_array_to(&there, model->value.all, dev, &err));
	kz_array_release(model->value.all);
	model->value.all = there;
	kz_array **const zeros[] = {&model->gradient.all, &model->m, &model->v};
	for (int i = 0; i < 3; i++) {
		CHECK(kz_array_zeros(zeros[i], dev, KZ_F32, KZ_SHAPE(PARAMS), &err));
	}
	CHECK(kz_array_zeros(&model->t, dev, KZ_F32, KZ_SHAPE(1), &err));
	CHECK(kz_array_zeros(&model->loss, dev, KZ_F32, KZ_SHAPE(), &err));
	for (int l = 0; l < LAYERS; l++) {
		const int64_t out = plan[l].outputs;
		CHECK(kz_array_zeros(&model->a[l], dev, KZ_F32, KZ_SHAPE(TRAINED, out), &err));
		CHECK(kz_array_zeros(&model->d[l], dev, KZ_F32, KZ_SHAPE(TRAINED, out), &err));
	}
	parameters_view(&model->value);
	parameters_view(&model->gradient);
}

static void model_release(struct model *model)
{
	parameters_release(&model->value);
	parameters_release(&model->gradient);
	for (int l = 0; l < LAYERS; l++) {
		kz_release_all(model->a[l], model->d[l]);
	}
	kz_release_all(model->m, model->v, model->t, model->loss);
}

static void forward(kz_array *out[LAYERS], struct model *model, kz_array *x)
{
	const kz_matrix_op N = KZ_MATRIX_AS_IS, T = KZ_MATRIX_TRANSPOSED;
	for (int l = 0; l < LAYERS; x = out[l++]) {
		kz_array *a = out[l], *b = model->value.b[l];
		CHECK(kz_gemm(a, KZ_ARG(1), x, N, model->value.W[l], T, KZ_ARG(0), NULL, &err));
		CHECK(kz_eval_into(a, l + 1 < LAYERS ? "relu(a + b)" : "a + b", &err,
			KZ_VARS(a, b)));
	}
}

static void backward(struct model *model, kz_array *x, kz_array *kinds)
{
	const kz_matrix_op N = KZ_MATRIX_AS_IS, T = KZ_MATRIX_TRANSPOSED;
	struct parameters *gradient = &model->gradient;
	const kz_cross_entropy_options *options = KZ_WITH(kz_cross_entropy_options,
		.loss_into = model->loss, .gradient_into = model->d[LAYERS - 1],
		.unchecked = 1); /* a check would wait */
	CHECK(kz_cross_entropy(NULL, NULL, model->a[LAYERS - 1], kinds, options, &err));
	for (int l = LAYERS - 1; l >= 0; l--) {
		kz_array *a = model->a[l], *d = model->d[l], *in = l > 0 ? model->a[l - 1] : x;
		if (l + 1 < LAYERS) {
			CHECK(kz_eval_into(d, "d * (a > 0)", &err, KZ_VARS(a, d)));
		}
		CHECK(kz_gemm(gradient->W[l], KZ_ARG(1), d, T, in, N, KZ_ARG(0), NULL, &err));
		CHECK(kz_reduce(NULL, KZ_REDUCE_SUM, d, KZ_AXES(0),
			KZ_WITH(kz_reduce_options, .into = gradient->b[l]), &err));
		if (l > 0) {
			CHECK(kz_gemm(model->d[l - 1], KZ_ARG(1), d, N, model->value.W[l], N,
				KZ_ARG(0), NULL, &err));
		}
	}
}

/* torch.optim.Adam(model.parameters(), lr=0.01).step() */
static void optimize(struct model *model)
{
	kz_array *w = model->value.all, *g = model->gradient.all;
	kz_array *m = model->m, *v = model->v, *t = model->t;
	CHECK(kz_eval_into(t, "t + 1", &err, KZ_VARS(t)));
	CHECK(kz_eval_into(m, "m + 0.1 * (g - m)", &err, KZ_VARS(m, g)));
	CHECK(kz_eval_into(v, "v + 0.001 * (g*g - v)", &err, KZ_VARS(v, g)));
	CHECK(kz_eval_into(w, "w - 0.01 * m / (1 - 0.9**t) / (sqrt(v / (1 - 0.999**t)) + 1e-8)",
		&err, KZ_VARS(w, m, v, t)));
}

/* d2l.Trainer: the board has the losses from epoch 0 to max_epochs. */
struct trainer {
	int max_epochs, gpu_count;
	kz_device *gpus[8];
	struct plot board;
	float losses[EPOCHS];
	struct model *model;
};

static void trainer_init(struct trainer *trainer, int max_epochs, int num_gpus)
{
	const int there = kz_cuda_device_count();
	*trainer = (struct trainer){.max_epochs = max_epochs};
	for (int i = 0; i < num_gpus && i < there && i < 8; i++) {
		char name[24];
		snprintf(name, sizeof(name), "cuda:%d", i);
		CHECK(kz_device_open(&trainer->gpus[i], name, &err));
		trainer->gpu_count++;
	}
}

/* To the first GPU, or as it is. */
static void trainer_prepare_batch(kz_array **out, struct trainer *trainer, kz_array *batch)
{
	if (trainer->gpu_count > 0) {
		CHECK(kz_array_to(out, batch, trainer->gpus[0], &err));
	} else {
		*out = kz_array_retain(batch);
	}
}

static void trainer_prepare_model(struct trainer *trainer, struct model *model)
{
	trainer->board = (struct plot){"loss", 0, trainer->max_epochs, 1, trainer->losses, 0};
	model_to(model, trainer->gpu_count > 0 ? trainer->gpus[0]
		: kz_array_device(model->value.all));
	trainer->model = model;
}

static void trainer_fit_epoch(struct trainer *trainer, kz_array *x, kz_array *kinds)
{
	forward(trainer->model->a, trainer->model, x);
	backward(trainer->model, x, kinds);
	optimize(trainer->model);
}

/* The epoch as a graph, which is recorded and does not run. */
static void trainer_capture(kz_exec **out, struct trainer *trainer, kz_array *x, kz_array *kinds)
{
	kz_graph *graph = NULL;
	kz_stream *stream = kz_device_stream(kz_array_device(x));
	CHECK(kz_graph_begin(stream, NULL, &err));
	trainer_fit_epoch(trainer, x, kinds);
	CHECK(kz_graph_end(&graph, stream, &err));
	CHECK(kz_graph_instantiate(out, graph, &err));
	kz_graph_release(graph);
}

static void trainer_fit(struct trainer *trainer, kz_array *x, kz_array *kinds, int as_graph)
{
	struct timespec begin, end;
	kz_exec *epoch = NULL;
	timespec_get(&begin, TIME_UTC);
	if (as_graph) {
		trainer_capture(&epoch, trainer, x, kinds);
	}
	for (int i = 0; i < trainer->max_epochs; i++) {
		if (as_graph) {
			CHECK(kz_exec_launch(epoch, NULL, &err));
		} else {
			trainer_fit_epoch(trainer, x, kinds);
		}
		CHECK(kz_array_get(trainer->model->loss, &trainer->losses[i], sizeof(float), &err));
		trainer->board.count++;
	}
	timespec_get(&end, TIME_UTC);
	fprintf(stderr, "TOTAL TRAINING TIME: %.6f s\n", difftime(end.tv_sec, begin.tv_sec)
		+ 1e-9 * (double)(end.tv_nsec - begin.tv_nsec));
	kz_exec_release(epoch);
}

static void trainer_finish(struct trainer *trainer)
{
	for (int i = 0; i < trainer->gpu_count; i++) {
		kz_device_close(trainer->gpus[i]);
	}
}

/* How many of the rows that it has not seen get their kind. */
static int count_right(struct model *model, kz_array *x, const int32_t *kinds)
{
	int64_t found[TESTED] = {0};
	kz_array *out[LAYERS] = {NULL}, *most = NULL;
	int right = 0;
	for (int l = 0; l < LAYERS; l++) {
		CHECK(kz_array_zeros(&out[l], kz_array_device(x), KZ_F32,
			KZ_SHAPE(TESTED, plan[l].outputs), &err));
	}
	forward(out, model, x);
	CHECK(kz_argmax(&most, out[LAYERS - 1], KZ_AXES(1), &err));
	CHECK(kz_array_get(most, found, sizeof(found), &err));
	for (int i = 0; i < TESTED; i++) {
		right += found[i] == kinds[i];
	}
	for (int l = 0; l < LAYERS; l++) {
		kz_array_release(out[l]);
	}
	kz_array_release(most);
	return right;
}

/* torch.cuda.current_device() and get_device_name(), of the device that is opened without a name;
 * memory_allocated(), before and after a = torch.FloatTensor([1., 2.]).cuda(). */
static void print_current_device(void)
{
	static const float two[] = {1, 2};
	kz_device *dev = NULL;
	kz_array *a = NULL;
	kz_memory_stats before = {0}, after = {0};
	CHECK(kz_device_open(&dev, NULL, &err));
	kz_device_memory_stats(dev, &before);
	CHECK(kz_array_from(&a, dev, KZ_F32, KZ_SHAPE(2), two, sizeof(two), &err));
	kz_device_memory_stats(dev, &after);
	printf("%d\n%lld\n%lld\n", kz_device_index(dev), (long long)before.live_size,
		(long long)after.live_size);
	fprintf(stderr, "%s\n", kz_device_model(dev));
	kz_array_release(a);
	kz_device_close(dev);
}

enum { X_TRAIN, Y_TRAIN, X_TEST, BATCHES };

/* train_test_split, and the batches where the trainer wants them */
static void load_data(kz_array *out[BATCHES], int32_t *kinds, struct trainer *trainer)
{
	float rows[IRIS_ROWS][IRIS_COLUMNS];
	kz_device *cpu = NULL;
	kz_array *data[BATCHES] = {NULL};
	iris_split(rows, kinds, 33);
	CHECK(kz_device_open(&cpu, "cpu", &err));
	CHECK(kz_array_from(&data[X_TRAIN], cpu, KZ_F32, KZ_SHAPE(TRAINED, IRIS_COLUMNS),
		rows + TESTED, TRAINED * sizeof(rows[0]), &err));
	CHECK(kz_array_from(&data[Y_TRAIN], cpu, KZ_I32, KZ_SHAPE(TRAINED), kinds + TESTED,
		TRAINED * sizeof(kinds[0]), &err));
	CHECK(kz_array_from(&data[X_TEST], cpu, KZ_F32, KZ_SHAPE(TESTED, IRIS_COLUMNS), rows,
		TESTED * sizeof(rows[0]), &err));
	for (int i = 0; i < BATCHES; i++) {
		trainer_prepare_batch(&out[i], trainer, data[i]);
		kz_array_release(data[i]);
	}
	kz_device_close(cpu);
}

static void print_results(const struct trainer *trainer, const float *before)
{
	int same = 0;
	for (int i = 0; i < EPOCHS; i++) {
		if (i % 10 == 0) {
			printf("epoch: %2d  loss: %10.8f\n", i + 1, trainer->losses[i]);
		}
		same += trainer->losses[i] == before[i];
	}
	printf("losses of the graph that are those of the loop: %d of %d\n", same, EPOCHS);
}

int main(int argc, char **argv)
{
	const char *picture = argc == 3 && strcmp(argv[1], "--plot") == 0 ? argv[2] : NULL;
	float before[EPOCHS];
	int32_t kinds[IRIS_ROWS];
	struct trainer trainer;
	kz_array *batch[BATCHES] = {NULL};
	print_current_device();
	trainer_init(&trainer, EPOCHS, 1);
	load_data(batch, kinds, &trainer);
	model_print();
	for (int run = 0; run < 3; run++) { /* cold, warm, as a graph */
		struct model model;
		model_create(&model);
		if (run == 0) {
			model_print_place(&model);
		}
		trainer_prepare_model(&trainer, &model);
		if (run == 0) {
			model_print_place(&model);
		}
		trainer_fit(&trainer, batch[X_TRAIN], batch[Y_TRAIN], run == 2);
		if (run < 2) {
			memcpy(before, trainer.losses, sizeof(before));
		} else {
			print_results(&trainer, before);
			printf("right: %d of %d held-out rows\n",
				count_right(&model, batch[X_TEST], kinds), TESTED);
		}
		model_release(&model);
	}
	for (int i = 0; i < BATCHES; i++) {
		kz_array_release(batch[i]);
	}
	trainer_finish(&trainer);
	return picture && plot_write(picture, &trainer.board);
}
