// def normalizer(x):
//     return x.logsumexp(-1)

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

// NaN if either is NaN; otherwise +0.0 is larger than -0.0.
__device__ inline float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

__device__ inline double maximum(double a, double b) {
    return a != a ? a : b != b ? b : fmax(a, b);
}

struct Sum {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a + b;
    }
    static __device__ inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// NaN if either is NaN; a if they are equal.
struct Largest {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a > b ? a : b;
    }
    static __device__ inline float of(float a, float b) { return maximum(b, a); }
    static __device__ inline double of(double a, double b) { return maximum(b, a); }
};

// The value of the thread whose lane number differs from this thread's in `bits`.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// Combines `found` with the `found` of the thread whose lane number differs from this thread's in
// `bits`.
template <typename Kind, typename T>
__device__ inline T with_thread(T found, int bits) {
    return Kind::of(found, from_thread(found, bits));
}

// Combines n consecutive values as a binary tree, adjacent pairs first.
template <typename Kind, int n, typename T>
__device__ inline T tree(T* values) {
#pragma unroll
    for (int step = 1; step < n; step *= 2) {
#pragma unroll
        for (int k = 0; k + step < n; k += 2 * step)
            values[k] = Kind::of(values[k], values[k + step]);
    }
    return values[0];
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

// Shared memory that the reductions of a kernel use one after the other; reductions that need
// equally many bytes use the same memory.
template <int bytes>
__device__ inline void* place_of() {
    __shared__ double place[(bytes + 7) / 8];
    return place;
}
template <typename T, int slot>
__device__ inline T& in_turn() {
    if (slot > 0) __syncthreads();
    return *static_cast<T*>(place_of<sizeof(T)>());
}

// How the runs of a warp's threads are distributed: over `dealt` threads, each of which keeps
// `kept` runs. Each thread of the row has a vector of adjacent accumulators in each run.
template <int runs, int threads>
struct Deal {
    static constexpr int width = threads < 32 ? threads : 32, warps = threads / width;
    static constexpr int dealt = runs < width ? runs : width, kept = runs / dealt;
};

// Combines the accumulators (`classes`) of a row's threads in a block, each run separately: along
// the bits of the accumulators' numbers, lowest first. A thread's part of a run is `lanes` adjacent
// accumulators. In each run, the parts follow each other in thread order; the runs follow each
// other, too. Within a warp, runs are distributed: of two threads, each continues with one half.
template <typename Kind, int lanes, int threads, int slot, typename T, int n, int runs>
__device__ inline void of_block(T (&classes)[n], T (&found)[runs]) {
    using Dealt = Deal<runs, threads>;
    constexpr int width = Dealt::width, warps = Dealt::warps;
    constexpr int dealt = Dealt::dealt, kept = Dealt::kept;
#pragma unroll
    for (int r = 0; r < runs; ++r) found[r] = tree<Kind, lanes>(classes + r * lanes);
#pragma unroll
    for (int bits = 1; bits < width; bits *= 2) {
        const int half = bits < dealt ? runs / (2 * bits) : 0;  // half of the runs that a thread
                                                                // has left
#pragma unroll
        for (int r = 0; r < (half > 0 ? half : kept); ++r) {
            if (half > 0) {
                const bool is_upper = threadIdx.x & bits;
                const T mine = is_upper ? found[r + half] : found[r];
                found[r] = Kind::of(mine, from_thread(is_upper ? found[r] : found[r + half], bits));
            } else {
                found[r] = with_thread<Kind>(found[r], bits);
            }
        }
    }
    if constexpr (warps > 1) {
        auto& of_warps = in_turn<T[dealt][33], slot>();
        const int warp = threadIdx.x / 32, place = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < kept; ++r) {
            if (r > 0) __syncthreads();
            if (place < dealt) of_warps[place][warp] = found[r];
            __syncthreads();
            const T* const row = &of_warps[place % dealt][warp / warps * warps];
            if constexpr (dealt == 1) {
                found[r] = row[place % warps];
#pragma unroll
                for (int bits = 1; bits < warps; bits *= 2)
                    found[r] = with_thread<Kind>(found[r], bits);
            } else {
                T of_warp[warps];
#pragma unroll
                for (int w = 0; w < warps; ++w) of_warp[w] = row[w];
                found[r] = tree<Kind, warps>(of_warp);
            }
        }
    }
}

// Combines the results of all runs. The runs that one thread keeps are adjacent: their numbers
// differ in the lowest bits.
template <typename Kind, int threads, typename T, int runs>
__device__ inline T of_runs(T (&found)[runs]) {
    T all = tree<Kind, Deal<runs, threads>::kept>(found);
#pragma unroll
    for (int bits = Deal<runs, threads>::dealt / 2; bits > 0; bits /= 2)
        all = with_thread<Kind>(all, bits);
    return all;
}

// Combines the accumulators of a row's threads into the row's result.
template <typename Kind, int lanes, int threads, int slot, typename T, int n>
__device__ inline T combined(T (&classes)[n]) {
    T found[n / lanes];
    of_block<Kind, lanes, threads, slot>(classes, found);
    return of_runs<Kind, threads>(found);
}

// As `combined`, for runs in a shared array in which each thread has a column of its own.
template <typename Kind, int lanes, int threads, int slot, typename T, int runs>
__device__ inline T combined_of_runs(T (&of_threads)[runs][threads]) {
    T found[runs];
#pragma unroll
    for (int r = 0; r < runs; ++r) found[r] = of_threads[r][threadIdx.x];
    return combined<Kind, lanes, threads, slot>(found);
}

// As `tree` of numbers, for each element of the vectors.
template <typename Kind, int n, typename T, int lanes>
__device__ inline Vec<T, lanes> tree(Vec<T, lanes>* values) {
    Vec<T, lanes> found;
#pragma unroll
    for (int k = 0; k < lanes; ++k) {
        T of_lane[n];
#pragma unroll
        for (int i = 0; i < n; ++i) of_lane[i] = values[i][k];
        found[k] = tree<Kind, n>(of_lane);
    }
    return found;
}

extern "C" __global__ void __launch_bounds__(256, 6) normalizer(
        const bfloat16* __restrict__ x_0,  // contiguous
        const bfloat16* __restrict__ x_1,  // at row * x_stride0
        bfloat16* __restrict__ out,        // at row
        const uint32 n1,                   // extent of i1
        const int x_stride0) {
    const int row = blockIdx.x;

    const auto x_0_row = x_0 + row * n1;
    const float v1 = float(x_1[row * x_stride0]);
    const float v2 = v1 * -1.442695f;
    float largest_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        largest_of[c] = -inf;
    }
    __shared__ float sum_of_runs[8][256];
#pragma unroll 1
    for (int r = 0; r < 8; ++r) {
        Vec<bfloat16, 8> x_0_8[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 8 + r * 2048 + v * 16384;
            if (v < 3 || i < n1) {
                x_0_8[v] = load_in_row<8>(x_0_row, i, n1);
            }
        }
        float sum_of[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 8 + r * 2048 + v * 16384;
            if (v < 3 || i < n1) {
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v3 = float(x_0_8[v][k]);
                    const float v4 = exp2f(fmaf(v3, 1.442695f, v2));
                    if (v < 3 || i + k < n1) {
                        largest_of[0] = maximum(v3, largest_of[0]);
                        sum_of[k] = sum_of[k] + v4;
                    }
                }
            }
        }
        sum_of_runs[r][threadIdx.x] = tree<Sum, 8>(sum_of);
    }
    const float largest = combined<Largest, 1, 256, 0>(largest_of);
    float sum = combined_of_runs<Sum, 1, 256, 1>(sum_of_runs);
    const bool v5 = fabsf(largest - v1) <= 64.0f && fabsf(v1) <= 1048576.0f;
    const float v6 = fabsf(largest) == inf ? 3.3895314e+38f : largest;
    if (!v5) {
#pragma unroll 1
        for (int r = 0; r < 8; ++r) {
            float sum_again_of[8];
#pragma unroll
            for (int c = 0; c < 8; ++c) {
                sum_again_of[c] = 0.0f;
            }
#pragma unroll 1
            for (int i = threadIdx.x * 8 + r * 2048; i < n1; i += 16384) {
                const auto x_0_8_1 = load_in_row<8>(x_0_row, i, n1);
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v7 = expf(float(x_0_8_1[k]) - v6);
                    if (i + k < n1) {
                        sum_again_of[k] = sum_again_of[k] + v7;
                    }
                }
            }
            sum_of_runs[r][threadIdx.x] = tree<Sum, 8>(sum_again_of);
        }
        const float sum_again = combined_of_runs<Sum, 1, 256, 2>(sum_of_runs);
        sum = sum_again;
    }
    const float v8 = sum * exp2f(fmaf(v6, -1.442695f, -v2));
    const bfloat16 v9 = bfloat16(logf(v5 ? (v8 < 1.0000005f ? 1.0f : v8) : sum) + v6);
    if (threadIdx.x == 0) {
        out[row] = v9;
    }
}
