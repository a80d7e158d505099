// def giou_loss(pred, target):  # boxes: [..., 4]
//     lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
//     w, h = (rb - lt).clamp(min=0).unbind(-1)
//     overlap = w * h
//     def area(box):
//         return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])
//     union = area(pred) + area(target) - overlap
//     elt, erb = minimum(pred[..., :2], target[..., :2]), maximum(pred[..., 2:], target[..., 2:])
//     ew, eh = (erb - elt).clamp(min=0).unbind(-1)
//     hull = ew * eh
//     giou = overlap / (union + 1e-7) - (hull - union) / (hull + 1e-7)
//     valid = area(target) > 0
//     return sum(where(valid, 1 - giou, 0.0)) / clamp(sum(valid), min=1)
//
// prelude: int64 argument smaller_of add maximum minimum Sum Whole Part over in_pieces combined

// where: n0 = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous()
// requires: 65536 < n0 <= 131072, n0 >= 1
// scratch: found = empty(i64, ceil(n0 / 1024))
// launch: entry=giou_loss_backward, units=ceil(n0 / 1024), args=target, found, i64(n0)
extern "C" void giou_loss_backward(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict target = argument<const float*>(arguments[0]);  // at (first + k) * 4 + 0..3
    int64* found = argument<int64*>(arguments[1]);                          // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);                         // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        int64 sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0LL;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid_1) __attribute__((always_inline)) {
                const float target_k = valid_1 ? target[(first + k) * 4 + 2] : 0.0f;
                const float target_k_1 = valid_1 ? target[(first + k) * 4 + 3] : 0.0f;
                const float v1 = target_k_1 - (valid_1 ? target[(first + k) * 4 + 1] : 0.0f);
                const float v2 = (target_k - (valid_1 ? target[(first + k) * 4] : 0.0f)) * v1;
                const bool valid = v2 > 0.0f;
                sum_of[k] = valid_1 ? add(sum_of[k], int64(valid)) : sum_of[k];
            });
        });
        const int64 sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

// where: n0 = pred.size(0)
// requires: grad.dtype == f32, grad.dim() == 0
// scratch: workspace0 = empty(f32, 1)
// launch: entry=giou_loss_backward_rest, units=1, args=grad, workspace0, found, i64(n0)
extern "C" void giou_loss_backward_rest(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict grad = argument<const float*>(arguments[0]);  // one element
    float* __restrict workspace = argument<float*>(arguments[1]);         // one element
    int64* found = argument<int64*>(arguments[2]);                        // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                       // extent of i0

    for (int64 row = begin; row < end; ++row) {
        int64 sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0LL;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = add(sum_of[chunk % 64], found[row * ((n0 + 1023) / 1024) + chunk]);
        }
        const int64 sum = combined<Sum>(sum_of);
        workspace[0] = grad[0] / float(maximum(1LL, sum));
    }
}

// requires: pred.dtype == f32, pred.dim() == 2, pred.size(1) == 4, pred.is_contiguous()
// requires: target.dtype == f32, target.dim() == 2, target.size(1) == 4, target.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == pred.size(0), out.size(1) == 4, out.is_contiguous()
// requires: no_overlap(out, pred, target)
// requires: pred.size(0) >= 1
// launch: entry=giou_loss_backward_1, units=pred.size(0), args=pred, workspace0, target, out
extern "C" void giou_loss_backward_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);       // at i * 4 + 0..3
    const float* __restrict workspace = argument<const float*>(arguments[1]);  // one element
    const float* __restrict target = argument<const float*>(arguments[2]);     // at i * 4 + 0..3
    float* __restrict out = argument<float*>(arguments[3]);                    // at i * 4 + 0..3

    const float workspace_value = workspace[0];
    const float v1 = -workspace_value;
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float target_i = target[i * 4 + 2];
        const float target_i_1 = target[i * 4];
        const float target_i_2 = target[i * 4 + 3];
        const float target_i_3 = target[i * 4 + 1];
        const float v2 = (target_i - target_i_1) * (target_i_2 - target_i_3);
        const bool valid = v2 > 0.0f;
        const float pred_i = pred[i * 4];
        const bool v3 = pred_i == target_i_1;
        const float pred_i_1 = pred[i * 4 + 2];
        const float erb = maximum(pred_i_1, target_i);
        const float elt = minimum(pred_i, target_i_1);
        const float v4 = erb - elt;
        const float ew = maximum(0.0f, v4);
        const float pred_i_2 = pred[i * 4 + 3];
        const float erb_1 = maximum(pred_i_2, target_i_2);
        const float pred_i_3 = pred[i * 4 + 1];
        const float elt_1 = minimum(pred_i_3, target_i_3);
        const float v5 = erb_1 - elt_1;
        const float eh = maximum(0.0f, v5);
        const float hull = ew * eh;
        const float v6 = pred_i_1 - pred_i;
        const float v7 = pred_i_2 - pred_i_3;
        const float rb = minimum(pred_i_1, target_i);
        const float lt = maximum(pred_i, target_i_1);
        const float v8 = rb - lt;
        const float w = maximum(0.0f, v8);
        const float rb_1 = minimum(pred_i_2, target_i_2);
        const float lt_1 = maximum(pred_i_3, target_i_3);
        const float v9 = rb_1 - lt_1;
        const float h = maximum(0.0f, v9);
        const float overlap = w * h;
        const float union_ = v6 * v7 + v2 - overlap;
        const float v10 = hull + 1e-07f;
        const float v11 = union_ + 1e-07f;
        const bool v12 = pred_i_3 == target_i_3;
        const bool v13 = pred_i_1 == target_i;
        const bool v14 = pred_i_2 == target_i_2;
        const float v15 = workspace_value / v10;
        const float v16 = v1 * ((hull - union_) / v10 / v10) + v15;
        const float v17 = v4 >= 0.0f ? v16 * eh : 0.0f;
        const float v18 = -v17;
        const float v19 = -v15 + workspace_value * (overlap / v11 / v11);
        const float v20 = v19 * v7;
        const float v21 = v1 / v11 - v19;
        const float v22 = v8 >= 0.0f ? v21 * h : 0.0f;
        const float v23 = -v22;
        const float v24 = (v3 ? v18 / 2.0f : pred_i >= target_i_1 ? 0.0f : v18) - v20;
        const float v25 = v24 + (v3 ? v23 / 2.0f : pred_i <= target_i_1 ? 0.0f : v23);
        const float v26 = v5 >= 0.0f ? v16 * ew : 0.0f;
        const float v27 = -v26;
        const float v28 = v19 * v6;
        const float v29 = v9 >= 0.0f ? v21 * w : 0.0f;
        const float v30 = -v29;
        const float v31 = (v12 ? v27 / 2.0f : pred_i_3 >= target_i_3 ? 0.0f : v27) - v28;
        const float v32 = v31 + (v12 ? v30 / 2.0f : pred_i_3 <= target_i_3 ? 0.0f : v30);
        const float v33 = (v13 ? v17 / 2.0f : pred_i_1 <= target_i ? 0.0f : v17) + v20;
        const float v34 = v33 + (v13 ? v22 / 2.0f : pred_i_1 >= target_i ? 0.0f : v22);
        const float v35 = (v14 ? v26 / 2.0f : pred_i_2 <= target_i_2 ? 0.0f : v26) + v28;
        const float v36 = v35 + (v14 ? v29 / 2.0f : pred_i_2 >= target_i_2 ? 0.0f : v29);
        out[i * 4] = valid ? v25 : 0.0f;
        out[i * 4 + 1] = valid ? v32 : 0.0f;
        out[i * 4 + 2] = valid ? v34 : 0.0f;
        out[i * 4 + 3] = valid ? v36 : 0.0f;
    }
}
