// def threadIdx(float4, i, n, NULL, half: float):
//     """A text that ends a comment */, a line \ .
//     and a trigraph ? ?/
//     """
//     k = float4 * half
//     λ = k + i
//     return λ / (n + abs(k)) + NULL

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

extern "C" __global__ void __launch_bounds__(256) threadIdx_(
        const float* __restrict__ float4_,  // contiguous
        const float* __restrict__ i,        // contiguous
        const float* __restrict__ n,        // contiguous
        const float* __restrict__ NULL_,    // contiguous
        const float half,
        float* __restrict__ out,            // contiguous
        const int n_1) {                    // elements
    const int i_1 = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i_1 >= n_1) return;
    const bool whole = i_1 + 4 <= n_1;

    Vec<float, 4> float4_4, i4, n4, NULL_4;
    if (whole) {
        float4_4 = load<4>(float4_, i_1);
        i4 = load<4>(i, i_1);
        n4 = load<4>(n, i_1);
        NULL_4 = load<4>(NULL_, i_1);
    } else {
        float4_4 = load_until<4>(float4_, i_1, n_1);
        i4 = load_until<4>(i, i_1, n_1);
        n4 = load_until<4>(n, i_1, n_1);
        NULL_4 = load_until<4>(NULL_, i_1, n_1);
    }
    Vec<float, 4> out4;
#pragma unroll
    for (int k_1 = 0; k_1 < 4; ++k_1) {
        const float k = float4_4[k_1] * half;
        const float lambda = k + i4[k_1];
        out4[k_1] = lambda / (n4[k_1] + fabsf(k)) + NULL_4[k_1];
    }
    if (whole) {
        store(out, i_1, out4);
    } else {
        store_until(out, i_1, n_1, out4);
    }
}
