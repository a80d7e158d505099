// def loss(logits, target):
//     return F.cross_entropy(logits, target)

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

#define nan __int_as_float(0x7fc00000)

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

// Sums, differences and products of integers wrap around.
__device__ inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

__device__ inline int64 add(int64 a, int64 b) {
    return int64((unsigned long long)a + (unsigned long long)b);
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

extern "C" __global__ void __launch_bounds__(128) loss_backward(
        const int64* __restrict__ target,  // contiguous
        int64* __restrict__ workspace,     // one element
        const uint32 n0) {                 // extent of i0
    Vec<int64, 2> target2[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 2 + v * 256;
        if (v < 3 || i < n0) {
            target2[v] = load<2>(target, i);
        }
    }
    int64 sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0LL;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 2 + v * 256;
        if (v < 3 || i < n0) {
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                sum_of[k] = add(sum_of[k], int64(target2[v][k] != -100LL));
            }
        }
    }
    const int64 sum = combined<Sum, 2, 128, 0>(sum_of);
    if (threadIdx.x == 0) {
        workspace[0] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256) loss_backward_1(
        const int64* __restrict__ workspace,    // one element
        const bfloat16* __restrict__ logits_0,  // contiguous
        const bfloat16* __restrict__ logits_1,  // at row * logits_stride0
        const int64* __restrict__ target,       // at row
        const bfloat16* __restrict__ grad,      // one element
        const int64 s1,                         // logits.size(1)
        bfloat16* __restrict__ out,             // contiguous
        const uint32 n1,                        // extent of i1
        const int logits_stride0) {
    const int row = blockIdx.x;

    const auto logits_0_row = logits_0 + row * n1;
    const float v1 = float(logits_1[row * logits_stride0]);
    const float v2 = v1 * -1.442695f;
    Vec<bfloat16, 8> logits_0_8[3];
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
            logits_0_8[v] = load<8>(logits_0_row, i);
        }
    }
    float largest_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        largest_of[c] = -inf;
    }
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v3 = float(logits_0_8[v][k]);
                largest_of[k] = maximum(v3, largest_of[k]);
                sum_of[k] = sum_of[k] + exp2f(fmaf(v3, 1.442695f, v2));
            }
        }
    }
    const float largest = combined<Largest, 8, 256, 0>(largest_of);
    float sum = combined<Sum, 8, 256, 1>(sum_of);
    const bool v4 = fabsf(largest - v1) <= 64.0f && fabsf(v1) <= 1048576.0f;
    if (!v4) {
        float sum_again_of[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            sum_again_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 3; ++v) {
            const int i = threadIdx.x * 8 + v * 2048;
            if (v < 2 || i < n1) {
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    sum_again_of[k] = sum_again_of[k] + expf(float(logits_0_8[v][k]) - largest);
                }
            }
        }
        const float sum_again = combined<Sum, 8, 256, 2>(sum_again_of);
        sum = sum_again;
    }
    const int64 target_value = target[row];
    const bool v5 = target_value != -100LL;
    const int64 v6 = v5 ? target_value : 0LL;
    const int64 v7 = v6 < 0LL ? 9223372036854775807LL : v6;
    const int64 v8 = add(v7, s1);
    const int64 v9 = v7 < 0LL ? (v8 < 0LL ? 9223372036854775807LL : v8) : v7;
    const bool v10 = target_value < 0LL || target_value >= s1;
    const bool v11 = v5 && !v10;
    const bool v12 = v5 && v10;
    const bool v13 = v11 || v12;
    const float v14 = float(grad[0]) / float(workspace[0]);
    const float v15 = (v11 ? v14 : 0.0f) + (v12 ? v14 * nan : 0.0f);
    const float v16 = v13 ? -v15 : 0.0f;
    const float v17 = sum * exp2f(fmaf(largest, -1.442695f, -v2));
    const float v18 = v13 ? v15 / (v4 ? (v17 < 1.0000005f ? 1.0f : v17) : sum) : 0.0f;
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
            Vec<bfloat16, 8> out8;
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v19 = v18 * expf(float(logits_0_8[v][k]) - largest);
                out8[k] = bfloat16((int64(i + k) == v9 ? v16 : 0.0f) + v19);
            }
            store(out_row, i, out8);
        }
    }
}
