// def loss(pred, target):  # boxes: [..., 4]; a target without area has no loss
//     area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
//     w, h = (minimum(pred[..., 2:], target[..., 2:]) - maximum(pred[..., :2], target[..., :2])).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     return where(area > 0, 1 - overlap / (pw * ph + area - overlap), 0.0)

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

extern "C" __global__ void __launch_bounds__(128) loss(
        const float* __restrict__ pred,    // at i0 * pred_stride0 + i1 * pred_stride1 + 0..3
        const float* __restrict__ target,  // at i0 * target_stride0 + i1 * target_stride1 + 0..3
        float* __restrict__ out,           // contiguous
        const int n,                       // elements
        const uint32 n1,                   // extent of i1
        const int target_stride0,
        const int target_stride1,
        const int pred_stride0,
        const int pred_stride1) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> target4[2], pred4[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int e = min(i + k * 128, n - 1);
        const int i0 = e / n1;
        const int i1 = e % n1;
        target4[k] = load<4>(target, i0 * target_stride0 + i1 * target_stride1);
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float area = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const int e = min(i + k * 128, n - 1);
        const int i0 = e / n1;
        const int i1 = e % n1;
        if (area > 0.0f) {
            pred4[k] = load<4>(pred, i0 * pred_stride0 + i1 * pred_stride1);
        }
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float area = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        float chosen = 0.0f;
        if (area > 0.0f) {
            const float v1 = minimum(pred4[k][2], target4[k][2]);
            const float w = maximum(0.0f, v1 - maximum(pred4[k][0], target4[k][0]));
            const float v2 = minimum(pred4[k][3], target4[k][3]);
            const float h = maximum(0.0f, v2 - maximum(pred4[k][1], target4[k][1]));
            const float overlap = w * h;
            const float pw = pred4[k][2] - pred4[k][0];
            const float ph = pred4[k][3] - pred4[k][1];
            chosen = 1.0f - overlap / (pw * ph + area - overlap);
        }
        const int e = i + k * 128;
        if (e < n) {
            out[e] = chosen;
        }
    }
}
