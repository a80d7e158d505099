// def loss(pred, target):  # boxes: [..., 4]; a target without area has no loss
//     area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
//     w, h = (minimum(pred[..., 2:], target[..., 2:]) - maximum(pred[..., :2], target[..., :2])).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     return where(area > 0, 1 - overlap / (pw * ph + area - overlap), 0.0)
//
// prelude: Vec load maximum minimum

// where: n = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous(), aligned(pred, 16)
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, pred, target)
// requires: 1 <= n <= 2147418111, pred.size(0)*4 - 3 <= 2147483647
// launch: entry=loss, grid=ceil(n / 256), block=128, args=pred, target, out, n, 4, 4
extern "C" __global__ void __launch_bounds__(128) loss(
        const float* __restrict__ pred,    // at i * pred_stride + 0..3
        const float* __restrict__ target,  // at i * target_stride + 0..3
        float* __restrict__ out,           // contiguous
        const int n,                       // elements
        const int target_stride,
        const int pred_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> target4[2], pred4[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int e = min(i + k * 128, n - 1);
        target4[k] = load<4>(target, e * target_stride);
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float area = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const int e = min(i + k * 128, n - 1);
        if (area > 0.0f) {
            pred4[k] = load<4>(pred, e * pred_stride);
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
