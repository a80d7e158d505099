// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index

using int64 = long long;

using uint32 = unsigned;

#define inf __int_as_float(0x7f800000)

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

// Keeps the larger of two values and its index; of equal values the one with the lower index. NaN
// is larger than any number.
template <typename T, typename I, typename Found>
__device__ inline void take_larger(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = value == best || (value != value && best != best);
    const bool is_larger = value > best || (value != value && best == best);
    const bool taken = is_larger || (is_same && at < index);
    best = taken ? value : best;
    index = taken ? at : index;
}

struct FirstLargest {
    template <typename T, typename I>
    static __device__ inline void take(T& best, I& index, T value, I at) {
        take_larger(best, index, value, at);
    }
};

// A value and its index.
template <typename T, typename I>
struct Found {
    T value;
    I index;
};

// The value of the thread whose lane number differs from this thread's in `bits`.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// As `combined`, for a reduction that finds a value and its index.
template <typename Kind, int lanes, int threads, int slot, typename T, typename I, int n>
__device__ inline Found<T, I> combined_found(T (&values)[n], I (&indices)[n]) {
    T best = values[0];
    I index = indices[0];
#pragma unroll
    for (int k = 1; k < n; ++k) Kind::take(best, index, values[k], indices[k]);
#pragma unroll
    for (int bits = 1; bits < (threads < 32 ? threads : 32); bits *= 2)
        Kind::take(best, index, from_thread(best, bits), from_thread(index, bits));
    if constexpr (threads > 32) {
        constexpr int warps = threads / 32;
        __shared__ T best_of_warps[32];
        __shared__ I index_of_warps[32];
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0) best_of_warps[warp] = best, index_of_warps[warp] = index;
        __syncthreads();
        best = best_of_warps[warp / warps * warps + threadIdx.x % warps];
        index = index_of_warps[warp / warps * warps + threadIdx.x % warps];
#pragma unroll
        for (int bits = 1; bits < warps; bits *= 2)
            Kind::take(best, index, from_thread(best, bits), from_thread(index, bits));
    }
    return {best, index};
}

extern "C" __global__ void __launch_bounds__(128) largest(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out0,     // at row
        int64* __restrict__ index,    // at row
        const uint32 n1) {            // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    Vec<float, 4> x4[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 512;
        if (v < 1 || i < n1) {
            x4[v] = load<4>(x_row, i);
        }
    }
    float value_of[4];
    int64 index_1_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        value_of[c] = -inf;
        index_1_of[c] = 9223372036854775807LL;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 512;
        if (v < 1 || i < n1) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                take_larger(value_of[k], index_1_of[k], x4[v][k], int64(i + k));
            }
        }
    }
    const auto [value, index_1] = combined_found<FirstLargest, 4, 128, 0>(value_of, index_1_of);
    const float v1 = value * 2.0f;
    if (threadIdx.x == 0) {
        out0[row] = v1;
        index[row] = index_1;
    }
}
