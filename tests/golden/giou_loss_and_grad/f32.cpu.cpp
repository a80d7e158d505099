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
//     return sum(where(valid, 1 - giou, 0.0))
//
// prelude: int64 argument smaller_of maximum minimum Sum Whole Part over in_pieces combined

// where: n0 = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous()
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 2, out1.size(0) == pred.size(0), out1.size(1) == 4, out1.is_contiguous()
// requires: no_overlap(out1, pred, target)
// requires: 65536 < n0 <= 131072, n0 >= 1
// scratch: found = empty(f32, ceil(n0 / 1024))
// launch: entry=giou_loss_value_and_grad, units=ceil(n0 / 1024), args=pred, target, out1, found, i64(n0)
extern "C" void giou_loss_value_and_grad(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at (first + k) * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at (first + k) * 4 + 0..3
    float* __restrict out1 = argument<float*>(arguments[2]);                // at (first + k) * 4 + 0..3
    float* found = argument<float*>(arguments[3]);                          // partial results of chunks
    const int64 n0 = argument<int64>(arguments[4]);                         // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid_1) __attribute__((always_inline)) {
                const float target_k = valid_1 ? target[(first + k) * 4 + 2] : 0.0f;
                const float target_k_1 = valid_1 ? target[(first + k) * 4] : 0.0f;
                const float target_k_2 = valid_1 ? target[(first + k) * 4 + 3] : 0.0f;
                const float target_k_3 = valid_1 ? target[(first + k) * 4 + 1] : 0.0f;
                const float v1 = (target_k - target_k_1) * (target_k_2 - target_k_3);
                const bool valid = v1 > 0.0f;
                const float pred_k = valid_1 ? pred[(first + k) * 4 + 2] : 0.0f;
                const float rb = minimum(pred_k, target_k);
                const float pred_k_1 = valid_1 ? pred[(first + k) * 4] : 0.0f;
                const float lt = maximum(pred_k_1, target_k_1);
                const float v2 = rb - lt;
                const float w = maximum(0.0f, v2);
                const float pred_k_2 = valid_1 ? pred[(first + k) * 4 + 3] : 0.0f;
                const float rb_1 = minimum(pred_k_2, target_k_2);
                const float pred_k_3 = valid_1 ? pred[(first + k) * 4 + 1] : 0.0f;
                const float lt_1 = maximum(pred_k_3, target_k_3);
                const float v3 = rb_1 - lt_1;
                const float h = maximum(0.0f, v3);
                const float overlap = w * h;
                const float v4 = pred_k - pred_k_1;
                const float v5 = pred_k_2 - pred_k_3;
                const float union_ = v4 * v5 + v1 - overlap;
                const float v6 = union_ + 1e-07f;
                const float v7 = overlap / v6;
                const float erb = maximum(pred_k, target_k);
                const float elt = minimum(pred_k_1, target_k_1);
                const float v8 = erb - elt;
                const float ew = maximum(0.0f, v8);
                const float erb_1 = maximum(pred_k_2, target_k_2);
                const float elt_1 = minimum(pred_k_3, target_k_3);
                const float v9 = erb_1 - elt_1;
                const float eh = maximum(0.0f, v9);
                const float hull = ew * eh;
                const float v10 = hull + 1e-07f;
                const float v11 = (hull - union_) / v10;
                const float giou = v7 - v11;
                const bool v12 = pred_k_1 == target_k_1;
                const float v13 = 1.0f / v10;
                const float v14 = -1.0f * (v11 / v10) + v13;
                const float v15 = v8 >= 0.0f ? v14 * eh : 0.0f;
                const float v16 = -v15;
                const float v17 = -v13 + v7 / v6;
                const float v18 = v17 * v5;
                const float v19 = -1.0f / v6 - v17;
                const float v20 = v2 >= 0.0f ? v19 * h : 0.0f;
                const float v21 = -v20;
                const float v22 = (v12 ? v16 / 2.0f : pred_k_1 >= target_k_1 ? 0.0f : v16) - v18;
                const float v23 = v22 + (v12 ? v21 / 2.0f : pred_k_1 <= target_k_1 ? 0.0f : v21);
                const float v24 = valid ? v23 : 0.0f;
                const bool v25 = pred_k_3 == target_k_3;
                const float v26 = v9 >= 0.0f ? v14 * ew : 0.0f;
                const float v27 = -v26;
                const float v28 = v17 * v4;
                const float v29 = v3 >= 0.0f ? v19 * w : 0.0f;
                const float v30 = -v29;
                const float v31 = (v25 ? v27 / 2.0f : pred_k_3 >= target_k_3 ? 0.0f : v27) - v28;
                const float v32 = v31 + (v25 ? v30 / 2.0f : pred_k_3 <= target_k_3 ? 0.0f : v30);
                const float v33 = valid ? v32 : 0.0f;
                const bool v34 = pred_k == target_k;
                const float v35 = (v34 ? v15 / 2.0f : pred_k <= target_k ? 0.0f : v15) + v18;
                const float v36 = v35 + (v34 ? v20 / 2.0f : pred_k >= target_k ? 0.0f : v20);
                const float v37 = valid ? v36 : 0.0f;
                const bool v38 = pred_k_2 == target_k_2;
                const float v39 = (v38 ? v26 / 2.0f : pred_k_2 <= target_k_2 ? 0.0f : v26) + v28;
                const float v40 = v39 + (v38 ? v29 / 2.0f : pred_k_2 >= target_k_2 ? 0.0f : v29);
                const float v41 = valid ? v40 : 0.0f;
                sum_of[k] = valid_1 ? sum_of[k] + (valid ? 1.0f - giou : 0.0f) : sum_of[k];
                if (valid_1) {
                    out1[(first + k) * 4] = v24;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 1] = v33;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 2] = v37;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 3] = v41;
                }
            });
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

// where: n0 = pred.size(0)
// requires: out0.dtype == f32, out0.dim() == 0
// launch: entry=giou_loss_value_and_grad_rest, units=1, args=out0, found, i64(n0)
extern "C" void giou_loss_value_and_grad_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out0 = argument<float*>(arguments[0]);  // one element
    float* found = argument<float*>(arguments[1]);            // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);           // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
        }
        const float sum = combined<Sum>(sum_of);
        out0[0] = sum;
    }
}
