// def hinge(score, label, mask):
//     margin = where(label > 0, 1 - score, 1 + score)
//     wrong = (margin > 1) & mask | isnan(score)
//     return where(wrong, margin, 0.0), wrong
//
// prelude: uint8 int64 Vec load store load_until store_until

// where: n = score.size(0)
// requires: score.size(0) == mask.size(0), label.size(0) == score.size(0)
// requires: score.dtype == f32, score.dim() == 1, score.is_contiguous(), aligned(score, 16)
// requires: label.dtype == i64, label.dim() == 1, label.is_contiguous(), aligned(label, 16)
// requires: mask.dtype == bool, mask.dim() == 1, mask.is_contiguous(), aligned(mask, 16)
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == score.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == bool, out1.dim() == 1, out1.size(0) == score.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, score, label, mask, out1), no_overlap(out1, score, label, mask)
// requires: 1 <= n <= 2147418111
// launch: entry=hinge, grid=ceil(n / 512), block=256, args=score, label, mask, out0, out1, n
extern "C" __global__ void __launch_bounds__(256) hinge(
        const float* __restrict__ score,  // contiguous
        const int64* __restrict__ label,  // contiguous
        const uint8* __restrict__ mask,   // bool, contiguous
        float* __restrict__ out0,         // contiguous
        bool* __restrict__ wrong,         // bool, contiguous
        const int n) {                    // elements
    const int i = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 2 <= n;

    Vec<int64, 2> label2;
    Vec<float, 2> score2;
    Vec<uint8, 2> mask2;
    if (whole) {
        label2 = load<2>(label, i);
        score2 = load<2>(score, i);
        mask2 = load<2>(mask, i);
    } else {
        label2 = load_until<2>(label, i, n);
        score2 = load_until<2>(score, i, n);
        mask2 = load_until<2>(mask, i, n);
    }
    Vec<float, 2> out0_2;
    Vec<bool, 2> wrong2;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float margin = label2[k] > 0LL ? 1.0f - score2[k] : 1.0f + score2[k];
        const bool wrong_1 = (margin > 1.0f && mask2[k] != 0) || isnan(score2[k]);
        out0_2[k] = wrong_1 ? margin : 0.0f;
        wrong2[k] = wrong_1;
    }
    if (whole) {
        store(out0, i, out0_2);
        store(wrong, i, wrong2);
    } else {
        store_until(out0, i, n, out0_2);
        store_until(wrong, i, n, wrong2);
    }
}
