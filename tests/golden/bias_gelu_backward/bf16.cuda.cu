// def bias_gelu(x, b, r):
//     return F.gelu(x + b) + r

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

// 1 / b, where both are normal numbers, within about one ulp.
__device__ inline float approximate_reciprocal(float b) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    return near;
}
__device__ inline double approximate_reciprocal(double b) { return 1.0 / b; }

struct Sum {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a + b;
    }
    static __device__ inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

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

// Merges the result of a group of adjacent accumulators into the results of the groups before it,
// as a binary counter carries: adjacent groups are combined first. After the last group, the
// highest level holds the result of all groups.
template <typename Kind, typename T, int n>
__device__ inline void carry(T (&levels)[n], int group, T found) {
    bool carries = true;
#pragma unroll
    for (int level = 0; level < n; ++level) {
        if (!carries) continue;
        carries = group >> level & 1;
        T both[2] = {levels[level], found};
        if (carries)
            found = tree<Kind, 2>(both);
        else
            levels[level] = found;
    }
}

// Combines the results of a row's threads in the order of the threads. `spacing` rows are
// interleaved: the threads of a row are `spacing` apart.
template <typename Kind, int threads, int spacing, int slot, typename T>
__device__ inline T combined_across(T found) {
    __shared__ T of_threads[threads][spacing];
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
    of_threads[thread][row] = found;
    __syncthreads();
    T of_row[threads];
#pragma unroll
    for (int t = 0; t < threads; ++t) of_row[t] = of_threads[t][row];
    return tree<Kind, threads>(of_row);
}

extern "C" __global__ void __launch_bounds__(256) bias_gelu_backward(
        const bfloat16* __restrict__ x,     // at row + i * x_stride1
        const bfloat16* __restrict__ b,     // at row
        const bfloat16* __restrict__ grad,  // at row + i * grad_stride1
        bfloat16* __restrict__ out0,        // at row + i * out0_stride1
        float* found,                       // partial results of chunks
        const uint32 n0,                    // extent of i0
        const uint32 n1,                    // extent of i1
        const int grad_stride1,
        const int x_stride1,
        const int out0_stride1) {
    const int blocks = (n0 + 255) / 256;
    const int chunk = blockIdx.x / blocks;
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x % blocks * 256 + threadIdx.x % 32 * 8;
    if (row >= n0) return;
    const int last = n1 - 1;

    const auto b8 = load<8>(b, row);
    Vec<float, 8> sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            sum_of[c][k] = 0.0f;
        }
    }
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 4096) {
        Vec<bfloat16, 8> grad8[4], x8[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            const int at = min(i, last);
            grad8[v] = load<8>(grad, row + at * grad_stride1);
            x8[v] = load<8>(x, row + at * x_stride1);
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            if (i < n1) {
                Vec<bfloat16, 8> out0_8;
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v1 = float(grad8[v][k]);
                    const float v2 = float(x8[v][k]) + float(b8[k]);
                    const float v3 = exp2f(v2 * v2 * -0.7213475f) * 0.3989423f;
                    const float v4 = approximate_reciprocal(fmaf(fabsf(v2), 0.2316419f, 1.0f));
                    const float v5 = fmaf(v4, fmaf(v4, 1.3302745f, -1.8212559f), 1.7814779f);
                    const float v6 = v3 * v4 * fmaf(v4, fmaf(v4, v5, -0.35656378f), 0.31938154f);
                    const float v7 = (v2 < 0.0f ? v6 : 1.0f - v6) + v2 * v3;
                    sum_of[v][k] = fmaf(v1, v7, sum_of[v][k]);
                    out0_8[k] = bfloat16(v1 * v7);
                }
                store(out0, row + i * out0_stride1, out0_8);
            }
        }
    }
    const Vec<float, 8> sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 4>(sum_of));
    if (thread == 0) {
        store(found, chunk * n0 + row, sum);
    }
}

extern "C" __global__ void __launch_bounds__(256) bias_gelu_backward_rest(
        bfloat16* __restrict__ out1,  // at row
        float* found,                 // partial results of chunks
        const uint32 n0) {            // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 16;

    float sum_levels[3];
#pragma unroll
    for (int g = 0; g < 16; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[2]);
    const bfloat16 v1 = bfloat16(sum);
    if (thread == 0) {
        out1[row] = v1;
    }
}
