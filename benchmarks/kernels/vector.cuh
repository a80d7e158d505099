// Shared by the hand-written kernels: vectors, bfloat16, and `map`, whose structure reaches copy bandwidth. A thread
// computes N neighbouring elements, with one bounds check for all loads and stores. A check per load would separate
// the loads, so that fewer are in flight.
#pragma once

template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
  T element[N];
};

struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  __device__ bfloat16(float value) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ operator float() const { return __uint_as_float(unsigned(bits) << 16); }
};

__device__ inline long long thread_index() { return blockIdx.x * (long long)blockDim.x + threadIdx.x; }

template <int N, typename T>
__device__ Vec<T, N> load(const T* data) {
  return *reinterpret_cast<const Vec<T, N>*>(data);
}

template <typename T, int N>
__device__ void store(T* data, const Vec<T, N>& value) {
  *reinterpret_cast<Vec<T, N>*>(data) = value;
}

template <typename Out, int N, typename F, typename... In>
__device__ Vec<Out, N> each(F f, const Vec<In, N>&... in) {
  Vec<Out, N> out;
#pragma unroll
  for (int k = 0; k < N; ++k) out.element[k] = f(in.element[k]...);
  return out;
}

/// out[i] = f(in[i]...) for all i < n; all pointers are aligned to N elements.
template <int N, typename F, typename Out, typename... In>
__device__ void map(F f, long long n, Out* out, const In*... in) {
  const long long i = N * thread_index();
  if (i + N <= n) {
    store(out + i, each<Out, N>(f, load<N>(in + i)...));
  } else {
    for (long long k = i; k < n; ++k) out[k] = f(in[k]...);
  }
}
