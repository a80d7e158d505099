// def loss(pred, target):  # boxes: [..., 4]; a target without area has no loss
//     area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
//     w, h = (minimum(pred[..., 2:], target[..., 2:]) - maximum(pred[..., :2], target[..., :2])).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     return where(area > 0, 1 - overlap / (pw * ph + area - overlap), 0.0)
//
// prelude: int64 argument maximum minimum

// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous()
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == pred.size(0), out.is_contiguous()
// requires: no_overlap(out, pred, target)
// requires: pred.size(0) >= 1
// launch: entry=loss, units=pred.size(0), args=pred, target, out
extern "C" void loss(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at i * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at i * 4 + 0..3
    float* __restrict out = argument<float*>(arguments[2]);                 // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float target_i = target[i * 4 + 2];
        const float target_i_1 = target[i * 4];
        const float target_i_2 = target[i * 4 + 3];
        const float target_i_3 = target[i * 4 + 1];
        const float area = (target_i - target_i_1) * (target_i_2 - target_i_3);
        const float pred_i = pred[i * 4 + 2];
        const float pred_i_1 = pred[i * 4];
        const float v1 = minimum(pred_i, target_i) - maximum(pred_i_1, target_i_1);
        const float w = maximum(0.0f, v1);
        const float pred_i_2 = pred[i * 4 + 3];
        const float pred_i_3 = pred[i * 4 + 1];
        const float v2 = minimum(pred_i_2, target_i_2) - maximum(pred_i_3, target_i_3);
        const float h = maximum(0.0f, v2);
        const float overlap = w * h;
        const float pw = pred_i - pred_i_1;
        const float ph = pred_i_2 - pred_i_3;
        out[i] = area > 0.0f ? 1.0f - overlap / (pw * ph + area - overlap) : 0.0f;
    }
}
