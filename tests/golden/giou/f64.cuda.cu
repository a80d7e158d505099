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

__device__ inline double maximum(double a, double b) {
    return a != a ? a : b != b ? b : fmax(a, b);
}

__device__ inline double minimum(double a, double b) {
    return a != a ? a : b != b ? b : fmin(a, b);
}

extern "C" __global__ void __launch_bounds__(256) giou(
        const double* __restrict__ pred,    // at i * pred_stride + 0..3
        const double* __restrict__ target,  // at i * target_stride + 0..3
        double* __restrict__ out,           // contiguous
        const int n,                        // elements
        const int pred_stride,
        const int target_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto pred_01 = load<2>(pred, i * pred_stride);
    const auto pred_23 = load<2>(pred, i * pred_stride + 2);
    const auto target_01 = load<2>(target, i * target_stride);
    const auto target_23 = load<2>(target, i * target_stride + 2);
    const double rb = minimum(pred_23[0], target_23[0]);
    const double lt = maximum(pred_01[0], target_01[0]);
    const double w = maximum(0.0, rb - lt);
    const double rb_1 = minimum(pred_23[1], target_23[1]);
    const double lt_1 = maximum(pred_01[1], target_01[1]);
    const double h = maximum(0.0, rb_1 - lt_1);
    const double overlap = w * h;
    const double pw = pred_23[0] - pred_01[0];
    const double ph = pred_23[1] - pred_01[1];
    const double tw = target_23[0] - target_01[0];
    const double th = target_23[1] - target_01[1];
    const double union_ = pw * ph + tw * th - overlap;
    const double hull_rb = maximum(pred_23[0], target_23[0]);
    const double hull_lt = minimum(pred_01[0], target_01[0]);
    const double cw = hull_rb - hull_lt;
    const double hull_rb_1 = maximum(pred_23[1], target_23[1]);
    const double hull_lt_1 = minimum(pred_01[1], target_01[1]);
    const double ch = hull_rb_1 - hull_lt_1;
    const double hull = cw * ch;
    out[i] = overlap / union_ - (hull - union_) / hull;
}
