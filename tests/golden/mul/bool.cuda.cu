// x * y

using uint8 = unsigned char;

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

extern "C" __global__ void __launch_bounds__(256) expression(
        const uint8* __restrict__ x,  // bool, contiguous
        const uint8* __restrict__ y,  // bool, contiguous
        bool* __restrict__ out,       // bool, contiguous
        const int n) {                // elements
    const int i = 16 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 16 <= n;

    Vec<uint8, 16> x16, y16;
    if (whole) {
        x16 = load<16>(x, i);
        y16 = load<16>(y, i);
    } else {
        x16 = load_until<16>(x, i, n);
        y16 = load_until<16>(y, i, n);
    }
    Vec<bool, 16> out16;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        out16[k] = x16[k] != 0 && y16[k] != 0;
    }
    if (whole) {
        store(out, i, out16);
    } else {
        store_until(out, i, n, out16);
    }
}
