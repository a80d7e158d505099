// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

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

extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // at i0 + i1 * y_stride1
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n0,                 // extent of i0
        const int n1,                 // extent of i1
        const int x_stride0,
        const int y_stride1,
        const int out_stride0) {
    const int tiles1 = (n1 + 63) / 64;
    const int t1 = blockIdx.x % tiles1 * 64;
    const int t0 = blockIdx.x / tiles1 * 64;
    const int r = threadIdx.x / 16;
    const int c = threadIdx.x % 16 * 4;
    const bool whole = t0 + 64 <= n0 && t1 + 64 <= n1;

    __shared__ float y_tile[64][65];
    Vec<float, 4> x4[4], y4[4];
    if (whole) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i0 = t0 + r + s * 16;
            x4[s] = load<4>(x, i0 * x_stride0 + (t1 + c));
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = t1 + r + s * 16;
            y4[s] = load<4>(y, t0 + c + i1 * y_stride1);
        }
    } else {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i0 = min(t0 + r + s * 16, n0 - 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i1 = min(t1 + c + k, n1 - 1);
                x4[s][k] = x[i0 * x_stride0 + i1];
            }
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = min(t1 + r + s * 16, n1 - 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i0 = min(t0 + c + k, n0 - 1);
                y4[s][k] = y[i0 + i1 * y_stride1];
            }
        }
    }
#pragma unroll
    for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            y_tile[c + k][r + s * 16] = y4[s][k];
        }
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        Vec<float, 4> out4;
        const int i0 = t0 + r + s * 16;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out4[k] = maximum(0.0f, x4[s][k]) + y_tile[r + s * 16][c + k] + bias;
        }
        if (whole) {
            store(out, i0 * out_stride0 + (t1 + c), out4);
        } else {
            const int i0 = t0 + r + s * 16;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i1 = t1 + c + k;
                if (i0 < n0 && i1 < n1) {
                    out[i0 * out_stride0 + i1] = out4[k];
                }
            }
        }
    }
}
