// tanh-gelu(x + b) + r in bfloat16; b is a row; its length is a multiple of 8.
//
// launch: grid=ceil(n / 2048), block=256, args=x, b, r, out, b.numel(), n
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void bias_gelu(const bfloat16* x, const bfloat16* b, const bfloat16* r, bfloat16* out,
                                     int columns, long long n) {
  constexpr int N = 8;
  const long long i = N * thread_index();
  if (i >= n) return;
  const auto bias = load<N>(b + unsigned(i) % columns);
  const auto f = [](float x, float b, float r) { return tanh_gelu(x + b) + r; };
  store(out + i, each<bfloat16, N>(f, load<N>(x + i), bias, load<N>(r + i)));
}
