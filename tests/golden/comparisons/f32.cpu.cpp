// def hinge(score, label, mask):
//     margin = where(label > 0, 1 - score, 1 + score)
//     wrong = (margin > 1) & mask | isnan(score)
//     return where(wrong, margin, 0.0), wrong
//
// prelude: uint8 int64 argument

// requires: score.size(0) == mask.size(0), label.size(0) == score.size(0)
// requires: score.dtype == f32, score.dim() == 1, score.is_contiguous()
// requires: label.dtype == i64, label.dim() == 1, label.is_contiguous()
// requires: mask.dtype == bool, mask.dim() == 1, mask.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == score.size(0), out0.is_contiguous()
// requires: out1.dtype == bool, out1.dim() == 1, out1.size(0) == score.size(0), out1.is_contiguous()
// requires: no_overlap(out0, score, label, mask, out1), no_overlap(out1, score, label, mask)
// requires: score.size(0) >= 1
// launch: entry=hinge, units=score.size(0), args=score, label, mask, out0, out1
extern "C" void hinge(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict score = argument<const float*>(arguments[0]);  // contiguous
    const int64* __restrict label = argument<const int64*>(arguments[1]);  // contiguous
    const uint8* __restrict mask = argument<const uint8*>(arguments[2]);   // bool, contiguous
    float* __restrict out0 = argument<float*>(arguments[3]);               // contiguous
    bool* __restrict wrong = argument<bool*>(arguments[4]);                // bool, contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float score_i = score[i];
        const float margin = label[i] > 0LL ? 1.0f - score_i : 1.0f + score_i;
        const bool wrong_1 = ((margin > 1.0f) & (mask[i] != 0)) | __builtin_isnan(score_i);
        out0[i] = wrong_1 ? margin : 0.0f;
        wrong[i] = wrong_1;
    }
}
