// Loads vectors of 16 bytes from unaligned data: the two aligned vectors around the elements are combined by funnel
// shifts. A thread's second load is its neighbour's first, so it hits L1.
#pragma once

#include "vector.cuh"

/// Four words shifted right by `bits`: the upper bits of a word come from the next one.
template <int First>
__device__ uint4 words_from(const unsigned (&w)[8], int bits) {
  return {__funnelshift_r(w[First], w[First + 1], bits), __funnelshift_r(w[First + 1], w[First + 2], bits),
          __funnelshift_r(w[First + 2], w[First + 3], bits), __funnelshift_r(w[First + 3], w[First + 4], bits)};
}

/// The 16 bytes at offset `bytes` of two aligned vectors. `bytes` is uniform, so the switch does not diverge.
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

/// As `map`, for inputs of any alignment. The last vectors are computed by single elements: an aligned vector may reach
/// past the end of the tensor there.
template <int N, typename F, typename Out, typename... In>
__device__ void map_shifted(F f, long long n, Out* out, const In*... in) {
  const long long i = N * thread_index();
  if (i + 2 * N <= n) {
    store(out + i, each<Out, N>(f, load_shifted<N>(in + i)...));
  } else {
    for (long long k = i; k < n && k < i + N; ++k) out[k] = f(in[k]...);
  }
}
