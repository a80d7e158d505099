// def giou(pred, target):  # boxes: [..., 4]
//     lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
//     w, h = (rb - lt).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     tw, th = (target[..., 2:] - target[..., :2]).unbind(-1)
//     union = pw * ph + tw * th - overlap
//     hull_lt = minimum(pred[..., :2], target[..., :2])
//     hull_rb = maximum(pred[..., 2:], target[..., 2:])
//     cw, ch = (hull_rb - hull_lt).unbind(-1)
//     hull = cw * ch
//     return overlap / union - (hull - union) / hull

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

extern "C" __global__ void __launch_bounds__(256) giou(
        const float* __restrict__ pred,    // at i * pred_stride + 0..3
        const float* __restrict__ target,  // at i * target_stride + 0..3
        float* __restrict__ out,           // contiguous
        const int n,                       // elements
        const int pred_stride,
        const int target_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto pred4 = load<4>(pred, i * pred_stride);
    const auto target4 = load<4>(target, i * target_stride);
    const float rb = minimum(pred4[2], target4[2]);
    const float lt = maximum(pred4[0], target4[0]);
    const float w = maximum(0.0f, rb - lt);
    const float rb_1 = minimum(pred4[3], target4[3]);
    const float lt_1 = maximum(pred4[1], target4[1]);
    const float h = maximum(0.0f, rb_1 - lt_1);
    const float overlap = w * h;
    const float pw = pred4[2] - pred4[0];
    const float ph = pred4[3] - pred4[1];
    const float tw = target4[2] - target4[0];
    const float th = target4[3] - target4[1];
    const float union_ = pw * ph + tw * th - overlap;
    const float hull_rb = maximum(pred4[2], target4[2]);
    const float hull_lt = minimum(pred4[0], target4[0]);
    const float cw = hull_rb - hull_lt;
    const float hull_rb_1 = maximum(pred4[3], target4[3]);
    const float hull_lt_1 = minimum(pred4[1], target4[1]);
    const float ch = hull_rb_1 - hull_lt_1;
    const float hull = cw * ch;
    out[i] = overlap / union_ - (hull - union_) / hull;
}
