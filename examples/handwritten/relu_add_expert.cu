// relu(x) + y + bias by an expert: four adjacent elements per thread, with 16-byte accesses, and a scalar tail.
// x, y and out must be aligned to 16 bytes.
//
//   ingot compare examples/relu_add.py --against examples/handwritten/relu_add_expert.cu x=f32:n y=f32:n
//     bias=0.5 n=268435456
//
// launch: grid=ceil(n / 1024), block=256, args=x, y, bias, out, n
__device__ float relu_add(float x, float y, float bias) { return (x < 0.0f ? 0.0f : x) + y + bias; }

extern "C" __global__ void relu_add_by_four(const float* __restrict__ x, const float* __restrict__ y, float bias,
                                            float* __restrict__ out, int n) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const float4 a = *reinterpret_cast<const float4*>(x + i);
    const float4 b = *reinterpret_cast<const float4*>(y + i);
    *reinterpret_cast<float4*>(out + i) = {relu_add(a.x, b.x, bias), relu_add(a.y, b.y, bias), relu_add(a.z, b.z, bias),
                                           relu_add(a.w, b.w, bias)};
  } else {
    for (int k = i; k < n; ++k) out[k] = relu_add(x[k], y[k], bias);
  }
}
