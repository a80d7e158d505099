// def loss(pred, target):  # boxes: [..., 4]; a target without area has no loss
//     area = (target[..., 2] - target[..., 0]) * (target[..., 3] - target[..., 1])
//     w, h = (minimum(pred[..., 2:], target[..., 2:]) - maximum(pred[..., :2], target[..., :2])).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     return where(area > 0, 1 - overlap / (pw * ph + area - overlap), 0.0)
//
// prelude: int64 argument smaller_of maximum minimum

// where: n1 = pred.size(1), target_stride0 = pred.size(1)*4, pred_stride0 = pred.stride(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == target.size(1), pred.size(2) == 4, target.size(2) == 4
// requires: pred.dtype == f32, pred.dim() == 3, pred.stride(2) == 1
// requires: target.dtype == f32, target.dim() == 3, target.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == pred.size(0), out.size(1) == pred.size(1),
//   out.is_contiguous()
// requires: no_overlap(out, pred, target)
// requires: pred.stride(1) == 4, pred.size(0)*pred.size(1) >= 1
// launch: entry=loss, units=pred.size(0)*pred.size(1), args=pred, target, out, i64(n1), i64(target_stride0),
//   i64(pred_stride0)
extern "C" void loss(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at i0 * pred_stride0 + i1 * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at i0 * target_stride0 + i1 * 4 + 0..3
    float* __restrict out = argument<float*>(arguments[2]);                 // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                         // extent of i1
    const int64 target_stride0 = argument<int64>(arguments[4]);
    const int64 pred_stride0 = argument<int64>(arguments[5]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto target_row = target + i0 * target_stride0;
        const auto pred_row = pred + i0 * pred_stride0;
        const auto out_row = out + row;
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            const float target_i1 = target_row[i1 * 4 + 2];
            const float target_i1_1 = target_row[i1 * 4];
            const float target_i1_2 = target_row[i1 * 4 + 3];
            const float target_i1_3 = target_row[i1 * 4 + 1];
            const float area = (target_i1 - target_i1_1) * (target_i1_2 - target_i1_3);
            const float pred_i1 = pred_row[i1 * 4 + 2];
            const float pred_i1_1 = pred_row[i1 * 4];
            const float v1 = minimum(pred_i1, target_i1) - maximum(pred_i1_1, target_i1_1);
            const float w = maximum(0.0f, v1);
            const float pred_i1_2 = pred_row[i1 * 4 + 3];
            const float pred_i1_3 = pred_row[i1 * 4 + 1];
            const float v2 = minimum(pred_i1_2, target_i1_2) - maximum(pred_i1_3, target_i1_3);
            const float h = maximum(0.0f, v2);
            const float overlap = w * h;
            const float pw = pred_i1 - pred_i1_1;
            const float ph = pred_i1_2 - pred_i1_3;
            out_row[i1] = area > 0.0f ? 1.0f - overlap / (pw * ph + area - overlap) : 0.0f;
        }
        i += last - first;
    }
}
