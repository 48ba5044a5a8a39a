// --grid 2 --block 4 'f32[8]' 'f32[8]=arange' 2.5 8
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float sum = 0;
		for (int k = 0; k < 3; k++) {
			sum += a * x[i]; // add
		}
		y[i] = sum; // store
	}
}
