// def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
//     a = 1 - t / steps
//     return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t

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

// Loads the N elements from i on; past the last of n elements, the last one is repeated.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_until(const T* data, I i, I n) {
    Vec<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = data[min(i + k, n - 1)];
    return values;
}

// Stores those of the N elements from i on that are below n.
template <typename T, int N, typename I>
__device__ inline void store_until(T* data, I i, I n, const Vec<T, N>& values) {
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
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, noise4;
    if (whole) {
        x4 = load<4>(x, i);
        noise4 = load<4>(noise, i);
    } else {
        x4 = load_until<4>(x, i, n);
        noise4 = load_until<4>(noise, i, n);
    }
    Vec<float, 4> out0_4, out1_4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out0_4[k] = s1 * x4[k] + s2 * noise4[k];
        out1_4[k] = x4[k] * s3;
    }
    if (whole) {
        store(out0, i, out0_4);
        store(out1, i, out1_4);
    } else {
        store_until(out0, i, n, out0_4);
        store_until(out1, i, n, out1_4);
    }
}
