// --grid 1 --block 2 'i32[4]'
extern "C" __global__ void watched(int *out)
{
	int sum = 0;
	for (int i = 0; i < 4; i++) {
		sum += i; // sum
		out[i] = sum + 10 * threadIdx.x; // out
	}
	out[0] = -1;
}
