// --grid 1 --block 1 'f32[8]=arange' 'u8[64]'
enum color { RED, GREEN = 5, BLUE };
struct node {
	int key;
	union { float f; unsigned bits; } value;
	enum color color;
	struct node *next;
	double grid[2][3];
};
typedef unsigned char byte;

extern "C" __global__ void layout(float *x, byte *bytes)
{
	struct node b = {7, {1.0f}, BLUE, nullptr, {{1, 2, 3}, {4, 5, 6}}};
	struct node a = {3, {2.0f}, GREEN, &b, {{0}}};
	float4 vector = make_float4(x[1], x[2], x[3], x[4]);
	float row[2][2] = {{x[1], x[2]}, {x[3], x[4]}};
	char letter = 'k';
	short small = -3;
	long long big = 1ll << 40;
	double real = x[5] / 2.0;
	const float *p = x + 6;
	bytes[0] = (byte)(a.next->key + row[x[0] > 0][1]); // store
	bytes[1] = (byte)(letter + small + big + real + *p + vector.x);
}
