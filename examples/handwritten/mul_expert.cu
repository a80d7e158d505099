// x * y by an expert: four adjacent elements per thread, with 16-byte accesses. All tensors must be 16-byte aligned.
//
//   ingot compare examples/mul.py --against examples/handwritten/mul_expert.cu x=f32:n y=f32:n n=268435456
//
// launch: grid=ceil(n / 1024), block=256, args=x, y, out, n
extern "C" __global__ void mul_by_four(const float* __restrict__ x, const float* __restrict__ y,
                                       float* __restrict__ out, int n) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const float4 a = *reinterpret_cast<const float4*>(x + i);
    const float4 b = *reinterpret_cast<const float4*>(y + i);
    *reinterpret_cast<float4*>(out + i) = {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
  } else {
    for (int k = i; k < n; ++k) out[k] = x[k] * y[k];
  }
}
