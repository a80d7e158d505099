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
//
// prelude: Vec load maximum minimum

// where: n = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f64, pred.dim() == 2, pred.is_contiguous(), aligned(pred, 16)
// requires: target.dtype == f64, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: out.dtype == f64, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, pred, target)
// requires: 1 <= n <= 2147418111, pred.size(0)*4 - 3 <= 2147483647
// launch: entry=giou, grid=ceil(n / 256), block=256, args=pred, target, out, n, 4, 4
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
