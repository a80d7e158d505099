// gelu(x + b + c) + r in float32, for rows of any width. One division finds the row of a thread's first element; the
// rows of its other elements are counted from there. b is a row (with BY_ROW), c a column (with BY_COLUMN). `stride` is
// the row stride of x and r. It equals `columns`, or both are multiples of four.
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void rows(const float* x, const float* b, const float* c, const float* r, float* out, int columns,
                                int stride, long long n) {
  constexpr int N = 4;
  const long long i = N * thread_index();
  if (i >= n) return;
  int row = unsigned(i) / columns, column = unsigned(i) - row * columns;
  const long long offset = stride == columns ? i : (long long)row * stride + column;
  Vec<float, N> bias;
#pragma unroll
  for (int k = 0; k < N; ++k) {
    bias.element[k] = 0.0f;
    if (i + k >= n) break;
#ifdef BY_ROW
    bias.element[k] += b[column];
#endif
#ifdef BY_COLUMN
    bias.element[k] += c[row];
#endif
    if (++column == columns) column = 0, ++row;
  }
  const auto f = [](float x, float bias, float r) { return tanh_gelu(x + bias) + r; };
  if (i + N <= n) {
    store(out + i, each<float, N>(f, load<N>(x + offset), bias, load<N>(r + offset)));
  } else {
    for (int k = 0; i + k < n; ++k) out[i + k] = f(x[offset + k], bias.element[k], r[offset + k]);
  }
}
