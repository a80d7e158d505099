// relu(x) + y + bias as it is usually written: one element per thread.
//
//   ingot compare examples/relu_add.py --against examples/handwritten/relu_add.cu x=f32:n y=f32:n bias=0.5
//     n=268435456
//
// launch: grid=ceil(n / 256), block=256, args=x, y, bias, out, n
extern "C" __global__ void relu_add(const float* x, const float* y, float bias, float* out, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i] < 0.0f ? 0.0f : x[i];
    out[i] = v + y[i] + bias;
  }
}
