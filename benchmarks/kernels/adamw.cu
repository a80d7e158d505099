// One step of AdamW: four tensors in, three out.
//
// launch: grid=ceil(n / 1024), block=256, args=p, grad, m, v, keep, rate, correction, out0, out1, out2, n
#include "vector.cuh"

extern "C" __global__ void adamw(const float* p, const float* grad, const float* m, const float* v, float keep,
                                 float rate, float correction, float* new_p, float* new_m, float* new_v, long long n) {
  const auto step = [=](float p, float g, float m, float v, float& new_p, float& new_m, float& new_v) {
    new_m = m * 0.9f + g * 0.1f;
    new_v = v * 0.999f + g * g * 0.001f;
    new_p = p * keep - rate * new_m / (sqrtf(new_v * correction) + 1e-8f);
  };
  constexpr int N = 4;
  const long long i = N * thread_index();
  if (i + N <= n) {
    const auto a = load<N>(p + i), b = load<N>(grad + i), c = load<N>(m + i), d = load<N>(v + i);
    Vec<float, N> e, f, g;
#pragma unroll
    for (int k = 0; k < N; ++k)
      step(a.element[k], b.element[k], c.element[k], d.element[k], e.element[k], f.element[k], g.element[k]);
    store(new_p + i, e);
    store(new_m + i, f);
    store(new_v + i, g);
  } else {
    for (long long k = i; k < n; ++k) step(p[k], grad[k], m[k], v[k], new_p[k], new_m[k], new_v[k]);
  }
}
