// x * y as it is usually written by hand: one element a thread.
extern "C" __global__ void mul(const float* x, const float* y, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * y[i];
}
