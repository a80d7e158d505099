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
// requires: pred.dtype == f32, pred.dim() == 2, pred.stride(0) == 1, aligned(pred + (pred.stride(1)*2), 16),
//   aligned(pred, 16), aligned(pred + (pred.stride(1)*3), 16), aligned(pred + pred.stride(1), 16)
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, pred, target)
// requires: 1 <= n <= 2147418111, pred.size(0)*4 - 3 <= 2147483647
// launch: entry=giou, grid=ceil(n / 256), block=256, args=pred + (pred.stride(1)*2), pred, pred + (pred.stride(1)*3),
//   pred + pred.stride(1), target, out, n, 4
extern "C" __global__ void __launch_bounds__(256) giou(
        const float* __restrict__ pred_2,  // contiguous
        const float* __restrict__ pred_0,  // contiguous
        const float* __restrict__ pred_3,  // contiguous
        const float* __restrict__ pred_1,  // contiguous
        const float* __restrict__ target,  // at i * target_stride + 0..3
        float* __restrict__ out,           // contiguous
        const int n,                       // elements
        const int target_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto target4 = load<4>(target, i * target_stride);
    const float pred_2_i = pred_2[i];
    const float rb = minimum(pred_2_i, target4[2]);
    const float pred_0_i = pred_0[i];
    const float lt = maximum(pred_0_i, target4[0]);
    const float w = maximum(0.0f, rb - lt);
    const float pred_3_i = pred_3[i];
    const float rb_1 = minimum(pred_3_i, target4[3]);
    const float pred_1_i = pred_1[i];
    const float lt_1 = maximum(pred_1_i, target4[1]);
    const float h = maximum(0.0f, rb_1 - lt_1);
    const float overlap = w * h;
    const float pw = pred_2_i - pred_0_i;
    const float ph = pred_3_i - pred_1_i;
    const float tw = target4[2] - target4[0];
    const float th = target4[3] - target4[1];
    const float union_ = pw * ph + tw * th - overlap;
    const float hull_rb = maximum(pred_2_i, target4[2]);
    const float hull_lt = minimum(pred_0_i, target4[0]);
    const float cw = hull_rb - hull_lt;
    const float hull_rb_1 = maximum(pred_3_i, target4[3]);
    const float hull_lt_1 = minimum(pred_1_i, target4[1]);
    const float ch = hull_rb_1 - hull_lt_1;
    const float hull = cw * ch;
    out[i] = overlap / union_ - (hull - union_) / hull;
}
