// The gradients of silu(x) * y in bfloat16: three tensors in, two out.
//
// launch: grid=ceil(n / 2048), block=256, args=g, x, y, out0, out1, n
#include "vector.cuh"

__device__ inline void gradients(float g, float x, float y, bfloat16& dx, bfloat16& dy) {
  const float s = 1.0f / (1.0f + expf(-x));
  dx = g * y * (s * (1.0f + x * (1.0f - s)));
  dy = g * (x * s);
}

extern "C" __global__ void swiglu_backward(const bfloat16* g, const bfloat16* x, const bfloat16* y, bfloat16* dx,
                                           bfloat16* dy, long long n) {
  constexpr int N = 8;
  const long long i = N * thread_index();
  if (i + N <= n) {
    const auto a = load<N>(g + i), b = load<N>(x + i), c = load<N>(y + i);
    Vec<bfloat16, N> first, second;
#pragma unroll
    for (int k = 0; k < N; ++k)
      gradients(a.element[k], b.element[k], c.element[k], first.element[k], second.element[k]);
    store(dx + i, first);
    store(dy + i, second);
  } else {
    for (long long k = i; k < n; ++k) gradients(g[k], x[k], y[k], dx[k], dy[k]);
  }
}
