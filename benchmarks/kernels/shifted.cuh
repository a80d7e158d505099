// Reading vectors of 16 bytes where the data begin between two of them: the two aligned vectors around the elements are
// shifted together. The second load is the neighbour's first, so it comes from L1.
#pragma once

#include "vector.cuh"

/// Four words, each of the bits from `bits` of a word on and as many of the next one as it lacks.
template <int First>
__device__ uint4 words_from(const unsigned (&w)[8], int bits) {
  return {__funnelshift_r(w[First], w[First + 1], bits), __funnelshift_r(w[First + 1], w[First + 2], bits),
          __funnelshift_r(w[First + 2], w[First + 3], bits), __funnelshift_r(w[First + 3], w[First + 4], bits)};
}

/// 16 bytes of two aligned vectors, from `bytes` on. All threads have the same `bytes`, so the switch costs nothing.
__device__ inline uint4 shifted(uint4 a, uint4 b, int bytes) {
  const unsigned w[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
  const int bits = 8 * (bytes & 3);
  switch (bytes / 4) {
    case 0:
      return words_from<0>(w, bits);
    case 1:
      return words_from<1>(w, bits);
    case 2:
      return words_from<2>(w, bits);
    default:
      return words_from<3>(w, bits);
  }
}

template <int N, typename T>
__device__ Vec<T, N> load_shifted(const T* data) {
  static_assert(sizeof(T) * N == 16);
  const int bytes = reinterpret_cast<unsigned long long>(data) % 16;
  const auto aligned = reinterpret_cast<const uint4*>(reinterpret_cast<const char*>(data) - bytes);
  const uint4 bits = shifted(aligned[0], aligned[1], bytes);
  return reinterpret_cast<const Vec<T, N>&>(bits);
}

/// As `map`, wherever the inputs begin. The last vectors go by elements: what lies behind them may not be ours to read.
template <int N, typename F, typename Out, typename... In>
__device__ void map_shifted(F f, long long n, Out* out, const In*... in) {
  const long long i = N * thread_index();
  if (i + 2 * N <= n) {
    store(out + i, each<Out, N>(f, load_shifted<N>(in + i)...));
  } else {
    for (long long k = i; k < n && k < i + N; ++k) out[k] = f(in[k]...);
  }
}
