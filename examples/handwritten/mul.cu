// x * y as it is usually written: one element per thread.
//
//   ingot compare examples/mul.py --against examples/handwritten/mul.cu x=f32:n y=f32:n n=268435456
//
// launch: grid=ceil(n / 256), block=256, args=x, y, out, n
extern "C" __global__ void mul(const float* x, const float* y, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = x[i] * y[i];
}
