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
// prelude: float16 Vec load maximum minimum

// where: n = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f16, pred.dim() == 2, pred.is_contiguous(), aligned(pred, 8)
// requires: target.dtype == f16, target.dim() == 2, target.is_contiguous(), aligned(target, 8)
// requires: out.dtype == f16, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, pred, target)
// requires: 1 <= n <= 2147418111, pred.size(0)*4 - 3 <= 2147483647
// launch: entry=giou, grid=ceil(n / 256), block=256, args=pred, target, out, n, 4, 4
extern "C" __global__ void __launch_bounds__(256) giou(
        const float16* __restrict__ pred,    // at i * pred_stride + 0..3
        const float16* __restrict__ target,  // at i * target_stride + 0..3
        float16* __restrict__ out,           // contiguous
        const int n,                         // elements
        const int pred_stride,
        const int target_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto pred4 = load<4>(pred, i * pred_stride);
    const auto target4 = load<4>(target, i * target_stride);
    const float v1 = float(pred4[2]);
    const float v2 = float(target4[2]);
    const float rb = minimum(v1, v2);
    const float v3 = float(pred4[0]);
    const float v4 = float(target4[0]);
    const float lt = maximum(v3, v4);
    const float w = maximum(0.0f, rb - lt);
    const float v5 = float(pred4[3]);
    const float v6 = float(target4[3]);
    const float rb_1 = minimum(v5, v6);
    const float v7 = float(pred4[1]);
    const float v8 = float(target4[1]);
    const float lt_1 = maximum(v7, v8);
    const float h = maximum(0.0f, rb_1 - lt_1);
    const float overlap = w * h;
    const float pw = v1 - v3;
    const float ph = v5 - v7;
    const float tw = v2 - v4;
    const float th = v6 - v8;
    const float union_ = pw * ph + tw * th - overlap;
    const float hull_rb = maximum(v1, v2);
    const float hull_lt = minimum(v3, v4);
    const float cw = hull_rb - hull_lt;
    const float hull_rb_1 = maximum(v5, v6);
    const float hull_lt_1 = minimum(v7, v8);
    const float ch = hull_rb_1 - hull_lt_1;
    const float hull = cw * ch;
    out[i] = float16(overlap / union_ - (hull - union_) / hull);
}
