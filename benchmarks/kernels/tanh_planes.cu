// tanh(x - b) for planes of any size; b has a number per channel. Vectors may cross the end of a plane: one division
// finds the plane of a vector's first element, and later elements may use the next plane's b. n is a multiple of 4.
//
// launch: grid=ceil(n / 1024), block=256, args=x, b, out, x.size(2) * x.size(3), b.numel(), n
#include "vector.cuh"

extern "C" __global__ void tanh_planes(const float* x, const float* b, float* out, int plane, int channels,
                                       long long n) {
  const long long i = 4 * thread_index();
  if (i >= n) return;
  const unsigned p = unsigned(i) / plane, offset = unsigned(i) - p * plane;
  const float bias = b[p % channels], next_bias = b[(p + 1) % channels];
  const auto a = load<4>(x + i);
  Vec<float, 4> t;
#pragma unroll
  for (int k = 0; k < 4; ++k) t.element[k] = tanhf(a.element[k] - (offset + k < plane ? bias : next_bias));
  store(out + i, t);
}
