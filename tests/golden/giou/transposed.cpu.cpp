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
// prelude: int64 argument maximum minimum

// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.stride(0) == 1
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous()
// requires: no_overlap(out, pred, target)
// requires: pred.size(0) >= 1
// launch: entry=giou, units=pred.size(0), args=pred + (pred.stride(1)*2), pred, pred + (pred.stride(1)*3),
//   pred + pred.stride(1), target, out
extern "C" void giou(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred_2 = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict pred_0 = argument<const float*>(arguments[1]);  // contiguous
    const float* __restrict pred_3 = argument<const float*>(arguments[2]);  // contiguous
    const float* __restrict pred_1 = argument<const float*>(arguments[3]);  // contiguous
    const float* __restrict target = argument<const float*>(arguments[4]);  // at i * 4 + 0..3
    float* __restrict out = argument<float*>(arguments[5]);                 // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float pred_2_i = pred_2[i];
        const float target_i = target[i * 4 + 2];
        const float rb = minimum(pred_2_i, target_i);
        const float pred_0_i = pred_0[i];
        const float target_i_1 = target[i * 4];
        const float lt = maximum(pred_0_i, target_i_1);
        const float w = maximum(0.0f, rb - lt);
        const float pred_3_i = pred_3[i];
        const float target_i_2 = target[i * 4 + 3];
        const float rb_1 = minimum(pred_3_i, target_i_2);
        const float pred_1_i = pred_1[i];
        const float target_i_3 = target[i * 4 + 1];
        const float lt_1 = maximum(pred_1_i, target_i_3);
        const float h = maximum(0.0f, rb_1 - lt_1);
        const float overlap = w * h;
        const float pw = pred_2_i - pred_0_i;
        const float ph = pred_3_i - pred_1_i;
        const float tw = target_i - target_i_1;
        const float th = target_i_2 - target_i_3;
        const float union_ = pw * ph + tw * th - overlap;
        const float hull_rb = maximum(pred_2_i, target_i);
        const float hull_lt = minimum(pred_0_i, target_i_1);
        const float cw = hull_rb - hull_lt;
        const float hull_rb_1 = maximum(pred_3_i, target_i_2);
        const float hull_lt_1 = minimum(pred_1_i, target_i_3);
        const float ch = hull_rb_1 - hull_lt_1;
        const float hull = cw * ch;
        out[i] = overlap / union_ - (hull - union_) / hull;
    }
}
