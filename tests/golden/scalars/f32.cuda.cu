// def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
//     a = 1 - t / steps
//     return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t

// N neighbours in memory, read and written at once.
template <typename T, int N>
struct alignas(sizeof(T) * N) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

// The N elements from i on; past the last of n, the last stands again.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_tile(const T* data, I i, I n) {
    if (i + N <= n) return *reinterpret_cast<const Vec<T, N>*>(data + i);
    Vec<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = data[min(i + k, n - 1)];
    return values;
}

template <typename T, int N, typename I>
__device__ inline void store_tile(T* data, I i, I n, const Vec<T, N>& values) {
    if (i + N <= n) {
        *reinterpret_cast<Vec<T, N>*>(data + i) = values;
        return;
    }
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (i + k < n) data[i + k] = values[k];
}

extern "C" __global__ void __launch_bounds__(256) lerp_noise(
        const float* __restrict__ x,      // contiguous
        const float* __restrict__ noise,  // contiguous
        const float s1,                   // (1 - t / steps) ** 0.5
        const float s2,                   // (1 - (1 - t / steps)) ** 0.5
        const float s3,                   // float64(1 / t)
        float* __restrict__ out0,         // contiguous
        float* __restrict__ out1,         // contiguous
        const int n) {                    // elements
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;

    const auto x4 = load_tile<4>(x, i, n);
    const auto noise4 = load_tile<4>(noise, i, n);
    Vec<float, 4> out0_4;
    Vec<float, 4> out1_4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out0_4[k] = s1 * x4[k] + s2 * noise4[k];
        out1_4[k] = x4[k] * s3;
    }
    store_tile(out0, i, n, out0_4);
    store_tile(out1, i, n, out1_4);
}
