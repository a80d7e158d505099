// def causal(x):
//     return x.tril() * 2

using int64 = long long;

using uint32 = unsigned;

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

template <int N, typename T, typename I>
__device__ inline Vec<T, N> load(const T* data, I i) {
    return *reinterpret_cast<const Vec<T, N>*>(data + i);
}

template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
}

extern "C" __global__ void __launch_bounds__(256) causal(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const uint32 n2) {            // extent of i2
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i2 = i % n2;
    const int i1 = i / n2 % n1;

    const auto x4 = load<4>(x, i);
    const int64 v1 = int64(i1);
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out4[k] = (int64(i2 + k) > v1 ? 0.0f : x4[k]) * 2.0f;
    }
    store(out, i, out4);
}
