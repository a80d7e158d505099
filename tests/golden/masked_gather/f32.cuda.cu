// def embed(table, i, j, x):
//     return where(i >= 0, table[i] * x, -x), where(i >= 0, table[j], 1.0)

using int64 = long long;

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

// An index into n elements: negative ones count from the end; the result is always within the
// tensor.
template <typename I>
__device__ inline I wrap_index(int64 index, I n) {
    if (index < 0) index += n;
    return I(index < 0 ? 0 : index < n ? index : n - 1);
}

extern "C" __global__ void __launch_bounds__(256) embed(
        const float* __restrict__ table_0,  // at index * table_step
        const float* __restrict__ table_1,  // at index * table_step
        const int64* __restrict__ i,        // contiguous
        const int64* __restrict__ j,        // contiguous
        const float* __restrict__ x,        // contiguous
        float* __restrict__ out0,           // contiguous
        float* __restrict__ out1,           // contiguous
        const int n,                        // elements
        const int table_size,
        const int table_step) {
    const int i_1 = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i_1 >= n) return;
    const bool whole = i_1 + 2 <= n;

    Vec<int64, 2> i2;
    Vec<float, 2> x2;
    Vec<int64, 2> j2;
    if (whole) {
        i2 = load<2>(i, i_1);
        x2 = load<2>(x, i_1);
        j2 = load<2>(j, i_1);
    } else {
        i2 = load_until<2>(i, i_1, n);
        x2 = load_until<2>(x, i_1, n);
        j2 = load_until<2>(j, i_1, n);
    }
    Vec<float, 2> out0_2, out1_2;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        float chosen;
        float chosen_1 = 1.0f;
        if (i2[k] >= 0LL) {
            chosen = table_0[wrap_index(i2[k], table_size) * table_step] * x2[k];
            chosen_1 = table_1[wrap_index(j2[k], table_size) * table_step];
        } else {
            chosen = -x2[k];
        }
        out0_2[k] = chosen;
        out1_2[k] = chosen_1;
    }
    if (whole) {
        store(out0, i_1, out0_2);
        store(out1, i_1, out1_2);
    } else {
        store_until(out0, i_1, n, out0_2);
        store_until(out1, i_1, n, out1_2);
    }
}
