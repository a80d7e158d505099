// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)

using int64 = long long;

using uint32 = unsigned;

#define inf __int_as_float(0x7f800000)

// NaN if either is; then +0.0 is more than -0.0.
__device__ inline float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
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

// NaN if either is.
struct Largest {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a != a || a > b ? a : b;
    }
};

// Of values with neighbouring numbers: along the bits of their numbers, lowest first.
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

// The same where the threads of a row are `spacing` apart, with those of as many other rows between
// them; a thread has one element of each run.
template <typename Kind, int threads, int spacing, int slot, typename T, int runs>
__device__ inline T combined_across(T (&classes)[runs]) {
    __shared__ T of_threads[threads][spacing];
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
    for (int r = 0; r < runs; ++r) {
        if (r > 0) __syncthreads();
        of_threads[thread][row] = classes[r];
        __syncthreads();
        T found[threads];
#pragma unroll
        for (int t = 0; t < threads; ++t) found[t] = of_threads[t][row];
        classes[r] = tree<Kind, threads>(found);
    }
    return tree<Kind, runs>(classes);
}

extern "C" __global__ void __launch_bounds__(1024) softmax(
        const float* __restrict__ x,  // at row + i * x_stride1
        float* __restrict__ out,      // contiguous
        const uint32 n0,              // of i0
        const uint32 n1,              // of i1
        const int x_stride1) {
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;

    const auto x_row = x + row;
    float m_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        m_of[c] = -inf;
    }
    for (int from = thread; from < n1; from += 256) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = from + v * 32;
            if (i < n1) {
                m_of[v] = maximum(m_of[v], x_row[i * x_stride1]);
            }
        }
    }
    const float m = combined_across<Largest, 32, 32, 0>(m_of);
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
    for (int from = thread; from < n1; from += 256) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = from + v * 32;
            if (i < n1) {
                const float e = expf(x_row[i * x_stride1] - m);
                sum_of[v] = sum_of[v] + e;
            }
        }
    }
    const float sum = combined_across<Sum, 32, 32, 1>(sum_of);
    const auto out_row = out + row * n1;
    for (int from = thread; from < n1; from += 256) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = from + v * 32;
            if (i < n1) {
                const float e = expf(x_row[i * x_stride1] - m);
                out_row[i] = e / sum;
            }
        }
    }
}
