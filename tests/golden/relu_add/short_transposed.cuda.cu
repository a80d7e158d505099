// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

using uint32 = unsigned;

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

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
        const float* __restrict__ y,  // at i0 * y_stride0 + i1 + i2 * y_stride2
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const uint32 n2,              // extent of i2
        const int y_stride0,
        const int y_stride2) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4, y4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        x4[k] = x[e];
        const int i0 = e / n2 / n1;
        const int i1 = e / n2 % n1;
        const int i2 = e % n2;
        y4[k] = y[i0 * y_stride0 + i1 + i2 * y_stride2];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = maximum(0.0f, x4[k]) + y4[k] + bias;
        const int e = i + k * 256;
        if (e < n) {
            out[e] = v1;
        }
    }
}
