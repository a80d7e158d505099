// The gradient of x * y by an expert: four adjacent elements per thread, with 16-byte accesses. All tensors must be
// aligned to 16 bytes.
//
//   ingot compare examples/mul.py --backward --against examples/handwritten/mul_backward_expert.cu x=f32:n
//     y=f32:n n=134217728
//
// launch: grid=ceil(n / 1024), block=256, args=grad, x, y, out0, out1, n
__device__ float4 times(float4 a, float4 b) { return {a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w}; }

extern "C" __global__ void mul_backward_by_four(const float* __restrict__ grad, const float* __restrict__ x,
                                                const float* __restrict__ y, float* __restrict__ grad_x,
                                                float* __restrict__ grad_y, int n) {
  const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 4 <= n) {
    const float4 g = *reinterpret_cast<const float4*>(grad + i);
    const float4 a = *reinterpret_cast<const float4*>(x + i);
    const float4 b = *reinterpret_cast<const float4*>(y + i);
    *reinterpret_cast<float4*>(grad_x + i) = times(g, b);
    *reinterpret_cast<float4*>(grad_y + i) = times(g, a);
  } else {
    for (int k = i; k < n; ++k) {
      grad_x[k] = grad[k] * y[k];
      grad_y[k] = grad[k] * x[k];
    }
  }
}
