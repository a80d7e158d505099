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
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous()
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous()
// requires: 65536 < n0 <= 131072, n0 >= 1
// scratch: found = empty(f32, ceil(n0 / 1024)), found_1 = empty(i64, ceil(n0 / 1024))
// launch: entry=giou_loss, units=ceil(n0 / 1024), args=pred, target, found, found_1, i64(n0)
extern "C" void giou_loss(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at (first + k) * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at (first + k) * 4 + 0..3
    float* found = argument<float*>(arguments[2]);                          // partial results of chunks
    int64* found_1 = argument<int64*>(arguments[3]);                        // partial results of chunks
    const int64 n0 = argument<int64>(arguments[4]);                         // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
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
                const float w = maximum(0.0f, rb - lt);
                const float pred_k_2 = valid_1 ? pred[(first + k) * 4 + 3] : 0.0f;
                const float rb_1 = minimum(pred_k_2, target_k_2);
                const float pred_k_3 = valid_1 ? pred[(first + k) * 4 + 1] : 0.0f;
                const float lt_1 = maximum(pred_k_3, target_k_3);
                const float h = maximum(0.0f, rb_1 - lt_1);
                const float overlap = w * h;
                const float union_ = (pred_k - pred_k_1) * (pred_k_2 - pred_k_3) + v1 - overlap;
                const float erb = maximum(pred_k, target_k);
                const float elt = minimum(pred_k_1, target_k_1);
                const float ew = maximum(0.0f, erb - elt);
                const float erb_1 = maximum(pred_k_2, target_k_2);
                const float elt_1 = minimum(pred_k_3, target_k_3);
                const float eh = maximum(0.0f, erb_1 - elt_1);
                const float hull = ew * eh;
                const float giou = overlap / (union_ + 1e-07f) - (hull - union_) / (hull + 1e-07f);
                sum_of[k] = valid_1 ? sum_of[k] + (valid ? 1.0f - giou : 0.0f) : sum_of[k];
                sum_1_of[k] = valid_1 ? add(sum_1_of[k], int64(valid)) : sum_1_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        found[unit] = sum;
        found_1[unit] = sum_1;
    }
}

// where: n0 = pred.size(0)
// requires: out.dtype == f32, out.dim() == 0
// launch: entry=giou_loss_rest, units=1, args=out, found, found_1, i64(n0)
extern "C" void giou_loss_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // one element
    float* found = argument<float*>(arguments[1]);           // partial results of chunks
    int64* found_1 = argument<int64*>(arguments[2]);         // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);          // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
            sum_1_of[chunk % 64] = add(sum_1_of[chunk % 64], found_1[row * ((n0 + 1023) / 1024) + chunk]);
        }
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        out[0] = sum / float(maximum(1LL, sum_1));
    }
}
