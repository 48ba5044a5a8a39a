// SPDX-License-Identifier: MIT
//
// Tests of kudzu.hpp: who owns what and when it is released, what is thrown, and what kernels get.
// It is built with AddressSanitizer, which finds what is released twice or never.  What must not
// compile is in .ci/check-headers.

#include <kudzu/kudzu.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

static int failures;
static long news_left = -1; // allocations of C++ that succeed; -1: all

#define CHECK(condition) \
	((condition) ? (void)0 : (void)(failures++, \
		std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition)))

void *operator new(std::size_t size)
{
	void *memory = news_left == 0 ? nullptr : std::malloc(size);
	if (news_left > 0) {
		news_left--;
	}
	if (!memory) {
		throw std::bad_alloc();
	}
	return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

using array = kz::handle<kz_array>;

#define STATIC(type, release) \
	static_assert(sizeof(kz::handle<type>) == sizeof(type *), #type); \
	static_assert(std::is_nothrow_move_constructible_v<kz::handle<type>>, #type); \
	static_assert(std::is_nothrow_move_assignable_v<kz::handle<type>>, #type); \
	static_assert(std::is_nothrow_destructible_v<kz::handle<type>>, #type); \
	static_assert(!std::is_copy_constructible_v<kz::handle<type>>, #type); \
	static_assert(!std::is_copy_assignable_v<kz::handle<type>>, #type); \
	static_assert(!std::is_polymorphic_v<kz::handle<type>>, #type);
STATIC(kz_array, kz_array_release)
KZ_PP_HANDLES(STATIC)
static_assert(std::is_nothrow_copy_constructible_v<kz::error>, "copied while it is thrown");

// The error that a lambda throws; one that says KZ_OK if it throws none.
template <class F>
static kz::error thrown(F &&f)
{
	try {
		f();
	} catch (const kz::error &e) {
		return e;
	}
	kz_error none = KZ_ERROR_INIT;
	return kz::error(none);
}

static int64_t live(kz_device *dev)
{
	kz_live_counts counts;
	kz::call(kz_device_count_live, dev, &counts);
	return counts.memory + counts.streams + counts.events + counts.modules;
}

static array zeros(kz_device *dev, int64_t count)
{
	return kz::make(kz_array_zeros, dev, KZ_F32, KZ_SHAPE(count));
}

static void test_moves(kz_device *dev)
{
	const int64_t before = live(dev);
	array a = zeros(dev, 4), b;
	kz_array *pointer = a;
	CHECK(a && !b && a == pointer && b == nullptr && a.get() == pointer);
	b = std::move(a);
	CHECK(!a && b == pointer);
	array &same = b;
	b = std::move(same); // to itself
	CHECK(b == pointer && kz_array_count(b) == 4);
	std::swap(a, b);
	CHECK(a == pointer && !b && live(dev) == before + 1);
	b = zeros(dev, 8);
	a = std::move(b); // releases the first one
	CHECK(live(dev) == before + 1 && kz_array_count(a) == 8);
	std::vector<array> many;
	for (int i = 0; i < 20; i++) {
		many.push_back(zeros(dev, i + 1));
	}
	many.erase(many.begin(), many.begin() + 5);
	CHECK(live(dev) == before + 16 && kz_array_count(many[0]) == 6);
	many.clear();
	pointer = a.detach();
	CHECK(!a && live(dev) == before + 1);
	array(pointer).reset();
	CHECK(live(dev) == before);
}

static void test_out(kz_device *dev)
{
	const int64_t before = live(dev);
	array a = zeros(dev, 4), u, s, vh;
	kz::call(kz_array_ones, a.out(), dev, KZ_F32, KZ_SHAPE(2, 2));
	CHECK(live(dev) == before + 1 && kz_array_count(a) == 4);
	kz::call(kz_svd, u.out(), s.out(), vh.out(), a, 1, nullptr);
	CHECK(kz_array_count(s) == 2);
	CHECK(thrown([&] { kz::call(kz_array_zeros, a.out(), dev, KZ_F32, KZ_SHAPE(-1)); }).status()
		== KZ_INVALID);
	CHECK(!a);
	std::array<kz_array *, 2> halves = {};
	kz::call(kz_array_split, halves.data(), 2, s, 0); // it fills a list
	array left(halves[0]), right(halves[1]);
	CHECK(kz_array_count(left) == 1 && kz_array_count(right) == 1);
}

static void test_share(kz_device *dev)
{
	array a = kz::from(dev, std::array<float, 2>{{1, 2}});
	array b = a.share();
	CHECK(a == b);
	a.reset();
	CHECK(kz::get<float>(kz_array_item_as, b, KZ_AT(1)) == 2);
	CHECK(!array().share());
}

// Objects of all kinds are released, in any order, also after their device.
static void test_kinds()
{
	auto dev = kz::make(kz_device_open, "cpu");
	auto again = kz::make(kz_device_open, "cpu");
	CHECK(dev == again);
	auto stream = kz::make(kz_stream_create, dev, 0);
	auto event = kz::make(kz_event_create, dev);
	auto buffer = kz::make(kz_buffer_create, dev, 64);
	auto graph = kz::make(kz_graph_create, dev);
	auto exec = kz::make(kz_graph_instantiate, graph);
	auto rng = kz::make(kz_random_create, dev, 7, 0);
	auto image = kz::make(kz_compile, "__global__ void k() {}", nullptr);
	auto other = image.share();
	auto loaded = kz::make(kz_module_load_image, dev, image);
	auto mod = loaded.share();
	loaded.reset();
	kz_kernel *kernel = kz::make(kz_module_kernel, mod, "k"); // which C lends
	CHECK(!std::strcmp(kz_kernel_name(kernel), "k"));
	auto prepared = kz::make(kz_prepared_create, kernel, KZ_DIM(1), KZ_DIM(1), nullptr,
		kz::args());
	auto twice = kz::make(kz_elementwise_create, dev, "float *x", "x[i] *= 2", nullptr);
	auto a = kz::from(dev, std::vector<float>{1, 0, 3});
	kz::call(kz_elementwise_run, twice, nullptr, KZ_ARGS(a));
	CHECK(kz::get<float>(kz_array_item_as, a, KZ_AT(2)) == 6);
	dev.reset();
	again.reset();
	image.reset();
	graph.reset();
	CHECK(!kz::handle<kz_sparse>().share());
}

static void close_empty(void *user, kz_device *dev)
{
	*static_cast<int64_t *>(user) = live(dev);
}

// Handles of a block are released in the reverse order: nothing is left when the device closes.
static void test_order()
{
	int64_t left = -1;
	{
		auto dev = kz::make(kz_device_open, "cpu");
		kz::call(kz_device_on_close, dev, close_empty, &left);
		auto a = zeros(dev, 4);
		auto mod = kz::make(kz_module_compile, dev, "__global__ void k() {}", nullptr);
		CHECK(live(dev) == 2);
	}
	CHECK(left == 0);
}

struct holder {
	array a, b;
	kz::handle<kz_stream> stream;
	holder(kz_device *dev, bool fails)
		: a(zeros(dev, 4)), b(zeros(dev, fails ? -1 : 4)),
		  stream(kz::make(kz_stream_create, dev, 0))
	{
	}
};

static void test_constructors(kz_device *dev)
{
	const int64_t before = live(dev);
	CHECK(thrown([&] { holder h(dev, true); }).status() == KZ_INVALID);
	CHECK(live(dev) == before);
	CHECK(thrown([&] { holder h(dev, false); }).status() == KZ_OK);
	CHECK(live(dev) == before);
}

static void test_errors(kz_device *dev)
{
	kz_error err = KZ_ERROR_INIT;
	kz_module *none = nullptr;
	const char source[] = "__global__ void k(float *x)\n{\n\t*x = y;\n}\n";
	CHECK(kz_module_compile(&none, dev, source, nullptr, &err) == KZ_COMPILE);
	std::vector<char> text(kz_error_format(&err, nullptr, 0) + 1);
	kz_error_format(&err, text.data(), text.size());
	text[text.size() - 2] = '\0'; // the line's end
	kz_error_clear(&err);

	kz::error e = thrown([&] { kz::make(kz_module_compile, dev, source, nullptr); });
	CHECK(!std::strcmp(e.what(), text.data()));
	CHECK(std::strstr(e.what(), "kernel.cu:3:7: error: identifier \"y\" is undefined\n"));
	CHECK(e.status() == KZ_COMPILE && e.value().line == 3 && e.value().column == 7);
	CHECK(e.value().domain == KZ_DOMAIN_NVRTC && e.value().log);
	const std::runtime_error &standard = e;
	CHECK(standard.what() == kz::error(e).what());

	// What a call of C left, and what it did not.
	CHECK(kz_device_open(nullptr, nullptr, &err) == KZ_INVALID);
	e = thrown([&] { kz::check(KZ_INVALID, err); });
	CHECK(err.status == KZ_OK && e.value().message[0] && e.status() == KZ_INVALID);
	e = thrown([&] { kz::check(KZ_TIMEOUT, err); });
	CHECK(e.status() == KZ_TIMEOUT && std::strstr(e.what(), kz_status_string(KZ_TIMEOUT)));
	kz::check(KZ_OK, err);
	array a = zeros(dev, 2), b = zeros(dev, 3), c;
	e = thrown([&] { kz::call([&](kz_error *to) { return kz_add(c.out(), a, b, to); }); });
	CHECK(e.status() == KZ_INVALID && !c);
}

// Without memory there is std::bad_alloc, and nothing is lost.
static void test_no_memory(kz_device *dev)
{
	const int64_t before = live(dev);
	kz_status status = KZ_OK;
	long refused = 0;
	for (; status == KZ_OK; refused++) {
		news_left = refused;
		try {
			kz::make(kz_module_compile, dev, "syntax error", nullptr);
		} catch (const std::bad_alloc &) {
		} catch (const kz::error &e) {
			status = e.status();
		}
		news_left = -1;
	}
	CHECK(refused > 1 && status == KZ_COMPILE && live(dev) == before);
}

template <class T>
static void test_number(kz_device *dev, kz_dtype type)
{
	const T host[3] = {T(1), T(0), T(1)};
	array a = kz::from(dev, host);
	CHECK(kz::dtype<T>() == type && kz_array_dtype(a) == type);
	CHECK(kz::get<T>(kz_array_item_as, a, KZ_AT(2)) == T(1));
}

static void test_arrays(kz_device *dev)
{
	test_number<bool>(dev, KZ_BOOL);
	test_number<signed char>(dev, KZ_I8);
	test_number<unsigned char>(dev, KZ_U8);
	test_number<short>(dev, KZ_I16);
	test_number<unsigned short>(dev, KZ_U16);
	test_number<int>(dev, KZ_I32);
	test_number<unsigned>(dev, KZ_U32);
	test_number<long>(dev, sizeof(long) == 8 ? KZ_I64 : KZ_I32);
	test_number<long long>(dev, KZ_I64);
	test_number<unsigned long>(dev, sizeof(long) == 8 ? KZ_U64 : KZ_U32);
	test_number<unsigned long long>(dev, KZ_U64);
	test_number<float>(dev, KZ_F32);
	test_number<double>(dev, KZ_F64);
	const float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
	array a = kz::from(dev, rows), b = kz::from(dev, std::vector<float>());
	CHECK(kz_array_ndim(a) == 2 && kz_array_shape(a).dims[0] == 2);
	CHECK(kz::get<float>(kz_array_item_as, a, KZ_AT(1, 0)) == 4 && kz_array_count(b) == 0);
	CHECK(kz::get<double>(kz_reduce_get_as, KZ_REDUCE_SUM, a, nullptr) == 21);
	kz::error e = thrown([&] { kz::get<int>(kz_array_item_as, a, KZ_AT(0, 0)); });
	CHECK(e.status() == KZ_INVALID);

	// The macros of lists take handles, and options are a struct.
	array sum = kz::make(kz_apply, KZ_OP_ADD, nullptr, KZ_ARGS(a, 2));
	array both = kz::make(kz_eval, "a + sum", nullptr, KZ_VARS(a, sum));
	array joined = kz::make(kz_array_concatenate, KZ_ARRAYS(a, both), 0, nullptr);
	CHECK(kz::get<float>(kz_array_item_as, joined, KZ_AT(3, 2)) == 14);
	auto along = kz::with(KZ_SCAN_OPTIONS_INIT, &kz_scan_options::axis, 1);
	array scanned = kz::make(kz_scan, a, "a + b", "0", along);
	CHECK(along.size == sizeof(along));
	CHECK(kz::get<float>(kz_array_item_as, scanned, KZ_AT(1, 2)) == 15);
}

struct point {
	float x;
	int n;
};

static const char kernels[] = R"(
struct point { float x; int n; };
__global__ void scale(float *a, float by, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		a[i] = a[i] * by + i;
}
__global__ void place(float *a, point p, bool on, unsigned char c, const int *in, const int *none)
{
	if (on && !none)
		a[p.n] = p.x + c + in[1];
}
)";

enum class color : unsigned char { green = 7 };

static void test_launches(kz_device *dev)
{
	auto mod = kz::make(kz_module_compile, dev, kernels, nullptr);
	kz_kernel *scale = kz::make(kz_module_kernel, mod, "scale");
	kz_kernel *place = kz::make(kz_module_kernel, mod, "place");
	auto stream = kz::make(kz_stream_create, dev, 0);
	const auto in_stream = kz::with(KZ_LAUNCH_OPTIONS_INIT, &kz_launch_options::stream, stream);
	array a = kz::make(kz_array_ones, dev, KZ_F32, KZ_SHAPE(100));
	int both[2] = {0, 1000};

	kz::launch_1d(scale, 100, nullptr, a, 2.0f, 100);
	kz::launch(scale, KZ_DIM(4), KZ_DIM(32), in_stream, a, 1.0f, 100);
	kz::launch(place, KZ_DIM(1), KZ_DIM(1), &in_stream, a, point{0.5f, 3}, true, color::green,
		KZ_IN(both, sizeof(both)), nullptr);
	float host[100];
	kz::call(kz_array_get, a, host, sizeof(host));
	for (int i = 0; i < 100; i++) {
		CHECK(host[i] == (i == 3 ? 1007.5f : 2.0f + i + i));
	}

	kz::error e = thrown([&] { kz::launch_1d(scale, 100, nullptr, a, 2.5, 100); });
	CHECK(e.status() == KZ_ARGUMENT);
	CHECK(!std::strcmp(e.value().message,
		"argument 2 of 'scale': expected float (4 bytes), got double"));
	CHECK(thrown([&] { kz::launch_1d(scale, 100, nullptr, a, 2.0f); }).status() == KZ_ARGUMENT);
	CHECK(thrown([&] { kz::launch_1d(scale, 100, nullptr, a, 2.0f, point{}); }).status()
		== KZ_ARGUMENT);
	e = thrown([&] { kz::launch(scale, KZ_DIM(1), KZ_DIM(5000), nullptr, a, 2.0f, 100); });
	CHECK(e.status() == KZ_LAUNCH);
	e = thrown([&] { kz::launch_1d(scale, 1, nullptr, array(), 2.0f, 1); });
	CHECK(e.status() == KZ_ARGUMENT);
}

int main()
{
	try {
		auto dev = kz::make(kz_device_open, "cpu");
		test_moves(dev);
		test_out(dev);
		test_share(dev);
		test_constructors(dev);
		test_errors(dev);
		test_no_memory(dev);
		test_arrays(dev);
		test_launches(dev);
		CHECK(live(dev) == 0);
		dev.reset();
		test_kinds();
		test_order();
	} catch (const std::exception &e) {
		std::fprintf(stderr, "handles: %s\n", e.what());
		failures++;
	}
	return failures != 0;
}
