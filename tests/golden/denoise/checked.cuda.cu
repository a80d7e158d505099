// def denoise(eps, sample, noise, table, t):  # table: [5, steps], t: an integer tensor
//     x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
//     return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise

using int64 = long long;

using uint32 = unsigned;

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

// An index into n elements: negative ones count from the end; the result is always within the
// tensor.
template <typename I>
__device__ inline I wrap_index(int64 index, I n) {
    if (index < 0) index += n;
    return I(index < 0 ? 0 : index < n ? index : n - 1);
}

// As wrap_index; an index out of range also writes its code to the status.
template <typename I>
__device__ inline I check_index(int64 index, I n, int* status, int code) {
    if (index < -int64(n) || index >= n) *status = code;
    return wrap_index(index, n);
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

// NaN if either is NaN; otherwise -0.0 is smaller than +0.0.
__device__ inline float minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fminf(a, b);
#endif
}

extern "C" __global__ void __launch_bounds__(256) denoise(
        const float* __restrict__ eps,      // contiguous
        const float* __restrict__ sample,   // contiguous
        const float* __restrict__ noise,    // contiguous
        const float* __restrict__ table_2,  // at index * table_step
        const float* __restrict__ table_0,  // at index * table_step
        const float* __restrict__ table_1,  // at index * table_step
        const float* __restrict__ table_3,  // at index * table_step
        const float* __restrict__ table_4,  // at index * table_step
        const int64* __restrict__ t,        // at i0
        float* __restrict__ out,            // contiguous
        const int n,                        // elements
        const uint32 n1,                    // extent of i1
        const int table_size,
        const int table_step,
        int* status) {                      // error code
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i0 = i / n1;

    const auto sample4 = load<4>(sample, i);
    const auto eps4 = load<4>(eps, i);
    const auto noise4 = load<4>(noise, i);
    const int t_wrapped = check_index(t[i0], table_size, status, 2);
    const float table_2_value = table_2[t_wrapped * table_step];
    const float table_0_value = table_0[t_wrapped * table_step];
    const float table_1_value = table_1[t_wrapped * table_step];
    const float table_3_value = table_3[t_wrapped * table_step];
    const float table_4_value = table_4[t_wrapped * table_step];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = (sample4[k] - table_0_value * eps4[k]) * table_1_value;
        const float x0 = minimum(1.0f, maximum(-1.0f, v1));
        const float v2 = table_2_value * x0 + table_3_value * sample4[k];
        out4[k] = v2 + table_4_value * noise4[k];
    }
    store(out, i, out4);
}
