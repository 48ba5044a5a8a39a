/* SPDX-License-Identifier: MIT */
/*
 * Gravity between all pairs of bodies.  It teaches tiles in shared memory: a block loads the bodies
 * of a tile once, and each of its threads adds up their pull.  And it teaches how to trust a
 * simulation: three bodies on the figure of an eight are back where they began after one period, a
 * cluster keeps its energy and its momentum, and the pull on some bodies is added up on the host.
 *
 * A step is a half kick, a drift and a half kick (leapfrog), so the energy does not run away.
 */
#include <kudzu/kudzu.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call that fails prints where and why, and ends the program. */
static kz_error err = KZ_ERROR_INIT;
#define CHECK(call) do { if (call) { \
		fprintf(stderr, "%s:%d: this call failed:\n", __FILE__, __LINE__); \
		kz_error_print(&err, stderr); exit(1); } } while (0)

enum { BODIES = 1024, THREADS = 128, STEPS = 50 };

/* A float4 in the kernels: a place with its mass, or a velocity or force. */
struct body {
	float x, y, z, mass;
};

static const char source[] =
	"__global__ void pull(const float4 *place, float4 *force, float soft, int n)\n"
	"{\n"
	"	__shared__ float4 tile[THREADS];\n"
	"	const int i = blockIdx.x * THREADS + threadIdx.x;\n"
	"	const float4 me = place[min(i, n - 1)];\n"
	"	float x = 0, y = 0, z = 0;\n"
	"	for (int first = 0; first < n; first += THREADS) {\n"
	"		__syncthreads();\n"
	"		const int other = first + threadIdx.x;\n"
	"		tile[threadIdx.x] = other < n ? place[other] : make_float4(0, 0, 0, 0);\n"
	"		__syncthreads();\n"
	"		for (int k = 0; k < THREADS; k++) {\n"
	"			const float4 b = tile[k];\n"
	"			const float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;\n"
	"			const float square = dx * dx + dy * dy + dz * dz + soft;\n"
	"			const float near = square > 0 ? rsqrtf(square) : 0;\n"
	"			const float by = b.w * near * near * near;\n"
	"			x += by * dx;\n"
	"			y += by * dy;\n"
	"			z += by * dz;\n"
	"		}\n"
	"	}\n"
	"	if (i < n) {\n"
	"		force[i] = make_float4(x, y, z, 0);\n"
	"	}\n"
	"}\n"
	"\n"
	"__global__ void move(float4 *place, float4 *speed, const float4 *force, float kick,\n"
	"	float drift, int n)\n"
	"{\n"
	"	const int i = blockIdx.x * THREADS + threadIdx.x;\n"
	"	if (i < n) {\n"
	"		speed[i].x += kick * force[i].x;\n"
	"		speed[i].y += kick * force[i].y;\n"
	"		speed[i].z += kick * force[i].z;\n"
	"		place[i].x += drift * speed[i].x;\n"
	"		place[i].y += drift * speed[i].y;\n"
	"		place[i].z += drift * speed[i].z;\n"
	"	}\n"
	"}\n";

/* The bodies of a run, and their kernels. */
struct run {
	kz_module *mod;
	kz_kernel *pull, *move;
	kz_buffer *place, *speed, *force;
	int count;
	float soft; /* added to squares of distances, so that no pull is too strong */
};

static void begin(struct run *run, kz_device *dev, const struct body *place,
	const struct body *speed, int count, float soft)
{
	const int64_t size = count * (int64_t)sizeof(*place);
	char threads[32];
	snprintf(threads, sizeof(threads), "THREADS=%d", THREADS);
	run->count = count;
	run->soft = soft;
	CHECK(kz_module_compile(&run->mod, dev, source, KZ_WITH(kz_compile_options,
		.name = "nbody.cu", .defines = (const char *const[]){threads, NULL}), &err));
	CHECK(kz_module_kernel(&run->pull, run->mod, "pull", &err));
	CHECK(kz_module_kernel(&run->move, run->mod, "move", &err));
	CHECK(kz_buffer_create(&run->place, dev, size, &err));
	CHECK(kz_buffer_create(&run->speed, dev, size, &err));
	CHECK(kz_buffer_create(&run->force, dev, size, &err));
	CHECK(kz_copy_htod(run->place, 0, place, size, &err));
	CHECK(kz_copy_htod(run->speed, 0, speed, size, &err));
}

static void launch_pull(struct run *run)
{
	CHECK(kz_launch(run->pull, KZ_DIM((run->count + THREADS - 1) / THREADS), KZ_DIM(THREADS),
		NULL, &err, KZ_ARGS(run->place, run->force, run->soft, run->count)));
}

static void launch_move(struct run *run, float kick, float drift)
{
	CHECK(kz_launch(run->move, KZ_DIM((run->count + THREADS - 1) / THREADS), KZ_DIM(THREADS),
		NULL, &err, KZ_ARGS(run->place, run->speed, run->force, kick, drift, run->count)));
}

/* Steps, and the bodies after them; between two steps their half kicks are one. */
static void advance(struct run *run, float step, int steps, struct body *place, struct body *speed)
{
	const int64_t size = run->count * (int64_t)sizeof(*place);
	launch_pull(run);
	for (int i = 0; i < steps; i++) {
		launch_move(run, i == 0 ? step / 2 : step, step);
		launch_pull(run);
	}
	launch_move(run, step / 2, 0);
	CHECK(kz_copy_dtoh(place, size, run->place, 0, &err));
	CHECK(kz_copy_dtoh(speed, size, run->speed, 0, &err));
}

static void end(struct run *run)
{
	kz_release_all(run->force, run->speed, run->place, run->mod);
}

/* Chenciner and Montgomery's orbit: three equal bodies follow each other on an eight. */
static void fly_eight(kz_device *dev)
{
	const struct body start[3] = {{0.97000436F, -0.24308753F, 0, 1},
		{-0.97000436F, 0.24308753F, 0, 1}, {0, 0, 0, 1}};
	const struct body speed[3] = {{0.466203685F, 0.43236573F, 0, 0},
		{0.466203685F, 0.43236573F, 0, 0}, {-0.93240737F, -0.86473146F, 0, 0}};
	const int steps = 1000;
	struct body place[3], after[3];
	struct run run;
	double worst = 0;
	begin(&run, dev, start, speed, 3, 0);
	advance(&run, 6.32591398F / steps, steps, place, after);
	for (int i = 0; i < 3; i++) {
		worst = fmax(worst, hypot(place[i].x - start[i].x, place[i].y - start[i].y));
	}
	printf("the eight: after one period all are %s\n", worst < 0.01 ? "back" : "elsewhere");
	fprintf(stderr, "  within %g\n", worst);
	end(&run);
}

/* The pull on body i, and the potential energy of all that pull it. */
static double pull_on_host(double *force, const struct body *place, int i, double soft)
{
	double energy = 0;
	force[0] = force[1] = force[2] = 0;
	for (int k = 0; k < BODIES; k++) {
		double d[3] = {place[k].x - place[i].x, place[k].y - place[i].y,
			place[k].z - place[i].z};
		double near = 1 / sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + soft);
		for (int axis = 0; axis < 3; axis++) {
			force[axis] += place[k].mass * near * near * near * d[axis];
		}
		energy -= k == i ? 0 : place[k].mass * near;
	}
	return energy;
}

static double energy_of(const struct body *place, const struct body *speed, double soft)
{
	double sum = 0, force[3];
	for (int i = 0; i < BODIES; i++) {
		const struct body v = speed[i];
		sum += place[i].mass * (v.x * v.x + v.y * v.y + v.z * v.z
			+ pull_on_host(force, place, i, soft)) / 2;
	}
	return sum;
}

static float draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (float)(*state >> 33) / 2147483648.0F - 0.5F;
}

/* A cluster that begins at rest and falls together. */
static void fall_together(kz_device *dev)
{
	static struct body start[BODIES], rest[BODIES], place[BODIES], speed[BODIES];
	static struct body pulls[BODIES];
	const float soft = 0.01F;
	uint64_t state = 33;
	double worst = 0, momentum[3] = {0}, force[3];
	struct run run;
	for (int i = 0; i < BODIES; i++) {
		start[i] = (struct body){draw(&state), draw(&state), draw(&state), 1.0F / BODIES};
	}
	begin(&run, dev, start, rest, BODIES, soft);
	launch_pull(&run);
	CHECK(kz_copy_dtoh(pulls, sizeof(pulls), run.force, 0, &err));
	for (int i = 0; i < BODIES; i += 37) {
		pull_on_host(force, start, i, soft);
		worst = fmax(worst, hypot(hypot(pulls[i].x - force[0], pulls[i].y - force[1]),
			pulls[i].z - force[2]));
	}
	printf("the cluster: the pull is %s\n", worst < 1e-4 ? "that of the host" : "wrong");
	advance(&run, 0.005F, STEPS, place, speed);
	const double before = energy_of(start, rest, soft), after = energy_of(place, speed, soft);
	for (int i = 0; i < BODIES; i++) {
		momentum[0] += place[i].mass * speed[i].x;
		momentum[1] += place[i].mass * speed[i].y;
		momentum[2] += place[i].mass * speed[i].z;
	}
	printf("the cluster: the energy was %.2f, and is %.2f after %d steps\n", before, after,
		STEPS);
	printf("the cluster: the momentum is %s\n",
		hypot(hypot(momentum[0], momentum[1]), momentum[2]) < 1e-5 ? "still 0" : "not 0");
	end(&run);
}

int main(void)
{
	kz_device *dev = NULL;
	CHECK(kz_device_open(&dev, NULL, &err));
	fly_eight(dev);
	fall_together(dev);
	kz_device_close(dev);
	return 0;
}
