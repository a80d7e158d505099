// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index

using int64 = long long;

using uint32 = unsigned;

struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    __device__ explicit bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
        const unsigned wide = __float_as_uint(value);
        const unsigned rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;  // rounded to nearest
                                                                            // even
        bits = (unsigned short)(value != value ? 0x7fff : rounded);
#endif
    }
    __device__ operator float() const {
#if __CUDA_ARCH__ >= 800
        float wide;  // one instruction, for either half of a word
        asm("mov.b32 %0, {0, %1};" : "=f"(wide) : "h"(bits));
        return wide;
#else
        return __uint_as_float(unsigned(bits) << 16);
#endif
    }
};

#define inf __int_as_float(0x7f800000)

template <typename To, typename From>
__device__ inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

// The `words` words that start `off` bytes after the start of two adjacent vectors. Shifts by whole
// words first, in steps of half the size each time, then by bytes.
template <int words>
__device__ inline Vec<unsigned, words> words_at(Vec<unsigned, words> low, Vec<unsigned, words> high,
                                                unsigned off) {
    unsigned both[2 * words];
#pragma unroll
    for (int w = 0; w < words; ++w) both[w] = low[w], both[words + w] = high[w];
#pragma unroll
    for (int step = words / 2; step > 0; step /= 2) {
#pragma unroll
        for (int w = 0; w + step < 2 * words; ++w) {
            const unsigned near = both[w], far = both[w + step];
            both[w] = off & 4 * step ? far : near;
        }
    }
    Vec<unsigned, words> result;
#pragma unroll
    for (int w = 0; w < words; ++w) result[w] = __funnelshift_r(both[w], both[w + 1], off % 4 * 8);
    return result;
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

// The index as an unsigned integer of the same size, which is faster to divide.
__device__ inline unsigned unsigned_of(int i) { return i; }
__device__ inline unsigned long long unsigned_of(int64 i) { return i; }

// Loads the N elements from i on of a row of n elements that may be unaligned, from the two aligned
// vectors around them. At least one of the N is in the row; elements past the row's end have no
// meaning.
template <int N, typename T, typename I, typename Length>
__device__ inline Vec<T, N> load_in_row(const T* row, I i, Length n) {
    constexpr int words = sizeof(T) * N / 4;
    const unsigned off = (unsigned long long)row % (4 * words);
    const auto at = unsigned_of(i) / N;
    const decltype(unsigned_of(i)) last =
        (off + n * (unsigned long long)sizeof(T) - 1) / (4 * words);
    const char* const aligned = reinterpret_cast<const char*>(row) - off;
    const auto vectors = reinterpret_cast<const Vec<unsigned, words>*>(aligned);
    return bit_cast<Vec<T, N>>(words_at<words>(vectors[at], vectors[min(at + 1, last)], off));
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

extern "C" __global__ void __launch_bounds__(64) largest(
        const bfloat16* __restrict__ x,  // contiguous
        bfloat16* __restrict__ out0,     // at row
        int64* __restrict__ index,       // at row
        const uint32 n1) {               // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    Vec<bfloat16, 8> x8[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        if (v < 1 || i < n1) {
            x8[v] = load_in_row<8>(x_row, i, n1);
        }
    }
    float value_of[8];
    int64 index_1_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        value_of[c] = -inf;
        index_1_of[c] = 9223372036854775807LL;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        if (v < 1 || i < n1) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v1 = float(x8[v][k]);
                if (v < 1 || i + k < n1) {
                    take_larger(value_of[k], index_1_of[k], v1, int64(i + k));
                }
            }
        }
    }
    const auto [value, index_1] = combined_found<FirstLargest, 8, 64, 0>(value_of, index_1_of);
    const bfloat16 v2 = bfloat16(value * 2.0f);
    if (threadIdx.x == 0) {
        out0[row] = v2;
        index[row] = index_1;
    }
}
