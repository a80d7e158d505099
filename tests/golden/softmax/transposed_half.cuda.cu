// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)

using int64 = long long;

using uint32 = unsigned;

struct float16 {
    unsigned short bits;

    float16() = default;
    __device__ explicit float16(float value) {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
    __device__ operator float() const {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

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

template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
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

// a / b by the steps of a division without overflow or underflow on the way: valid if the exponents
// of b and of the quotient are from -48 to 47. Zero numerators take this path, too; the processor's
// own division leaves them to a function.
__device__ inline float quotient_of(float a, float b) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    const float reciprocal = __fmaf_rn(__fmaf_rn(-b, near, 1.0f), near, near);
    const float first = a * reciprocal;
    const auto is_plain = [](float c) { return __float_as_uint(c) * 2 - (79u << 24) < 96u << 24; };
    const bool is_zero = a == 0.0f;  // the fma below would lose the sign of a zero quotient
    const float found = is_zero ? first : __fmaf_rn(__fmaf_rn(-b, first, a), reciprocal, first);
    return is_plain(b) && (is_plain(found) || is_zero) ? found : a / b;
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

extern "C" __global__ void __launch_bounds__(512) softmax(
        const float16* __restrict__ x,  // at row + i * x_stride1
        float16* __restrict__ out,      // at row + i * out_stride1
        const uint32 n0,                // extent of i0
        const uint32 n1,                // extent of i1
        const int x_stride1,
        const int out_stride1) {
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 256 + threadIdx.x % 32 * 8;
    if (row >= n0) return;
    const int first = thread * 16;
    const int last = n1 - 1;

    Vec<float, 8> m_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            m_of[c][k] = -inf;
        }
    }
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        m_of[v][k] = maximum(float(x8[v][k]), m_of[v][k]);
                    }
                }
            }
        }
    }
    const Vec<float, 8> m = combined_across<Largest, 16, 32, 0>(tree<Largest, 4>(m_of));
    Vec<float, 8> sum_levels[3];
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        Vec<float, 8> sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                sum_of[c][k] = 0.0f;
            }
        }
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8_1[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8_1[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const float e = expf(float(x8_1[v][k]) - m[k]);
                        sum_of[v][k] = sum_of[v][k] + e;
                    }
                }
            }
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const Vec<float, 8> sum = combined_across<Sum, 16, 32, 1>(sum_levels[2]);
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8_2[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8_2[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
                    Vec<float16, 8> out8;
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const float e = expf(float(x8_2[v][k]) - m[k]);
                        out8[k] = float16(quotient_of(e, sum[k]));
                    }
                    store(out, row + i * out_stride1, out8);
                }
            }
        }
    }
}
