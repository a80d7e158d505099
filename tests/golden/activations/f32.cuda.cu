// gelu(x + y) * sigmoid(y) + x

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

extern "C" __global__ void __launch_bounds__(128) expression(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // contiguous
        float* __restrict__ out,      // contiguous
        const int n) {                // elements
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, y4;
    if (whole) {
        x4 = load<4>(x, i);
        y4 = load<4>(y, i);
    } else {
        x4 = load_until<4>(x, i, n);
        y4 = load_until<4>(y, i, n);
    }
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = x4[k] + y4[k];
        const float v2 = v1 * 0.5f * (1.0f + erff(v1 * 0.70710677f));
        out4[k] = v2 * (1.0f / (1.0f + expf(-y4[k]))) + x4[k];
    }
    if (whole) {
        store(out, i, out4);
    } else {
        store_until(out, i, n, out4);
    }
}
