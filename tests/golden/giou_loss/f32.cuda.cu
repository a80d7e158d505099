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
// prelude: int64 uint32 Vec load add maximum minimum Sum quotient_of from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous(), aligned(pred, 16)
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: 65536 < n0 <= 131072, 1 <= n0 <= 2139095039, pred.size(0)*4 - 3 <= 2147483647, n0 % 8 == 0
// scratch: found = empty(f32, 32), found_1 = empty(i64, 32)
// launch: entry=giou_loss, grid=32, block=512, args=pred, target, found, found_1, n0, 4, 4
extern "C" __global__ void __launch_bounds__(512) giou_loss(
        const float* __restrict__ pred,    // at i * pred_stride + 0..3
        const float* __restrict__ target,  // at i * target_stride + 0..3
        float* found,                      // partial results of chunks
        int64* found_1,                    // partial results of chunks
        const uint32 n0,                   // extent of i0
        const int target_stride,
        const int pred_stride) {
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;
    const int last = n0 - 1;

    float sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0.0f;
    }
    int64 sum_1_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_1_of[c] = 0LL;
    }
    for (int from = chunk * 1024 + threadIdx.x; from < n0; from += 32768) {
        Vec<float, 4> target4[2];
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            const int at = min(i, last);
            target4[v] = load<4>(target, at * target_stride);
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            if (i < n0) {
                const float v1 = (target4[v][2] - target4[v][0]) * (target4[v][3] - target4[v][1]);
                const bool valid = v1 > 0.0f;
                float chosen = 0.0f;
                if (valid) {
                    const auto pred4 = load<4>(pred, i * pred_stride);
                    const float rb = minimum(pred4[2], target4[v][2]);
                    const float lt = maximum(pred4[0], target4[v][0]);
                    const float w = maximum(0.0f, rb - lt);
                    const float rb_1 = minimum(pred4[3], target4[v][3]);
                    const float lt_1 = maximum(pred4[1], target4[v][1]);
                    const float h = maximum(0.0f, rb_1 - lt_1);
                    const float overlap = w * h;
                    const float union_ = (pred4[2] - pred4[0]) * (pred4[3] - pred4[1]) + v1 - overlap;
                    const float erb = maximum(pred4[2], target4[v][2]);
                    const float elt = minimum(pred4[0], target4[v][0]);
                    const float ew = maximum(0.0f, erb - elt);
                    const float erb_1 = maximum(pred4[3], target4[v][3]);
                    const float elt_1 = minimum(pred4[1], target4[v][1]);
                    const float eh = maximum(0.0f, erb_1 - elt_1);
                    const float hull = ew * eh;
                    const float v2 = quotient_of(hull - union_, hull + 1e-07f);
                    const float giou = quotient_of(overlap, union_ + 1e-07f) - v2;
                    chosen = 1.0f - giou;
                }
                sum_of[v] = sum_of[v] + chosen;
                sum_1_of[0] = add(sum_1_of[0], int64(valid));
            }
        }
    }
    const float sum = combined<Sum, 1, 512, 0>(sum_of);
    const int64 sum_1 = combined<Sum, 1, 512, 1>(sum_1_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
        found_1[row * 32 + chunk] = sum_1;
    }
}

// requires: out.dtype == f32, out.dim() == 0
// launch: entry=giou_loss_rest, grid=1, block=128, args=out, found, found_1
extern "C" __global__ void __launch_bounds__(128) giou_loss_rest(
        float* __restrict__ out,  // one element
        float* found,             // partial results of chunks
        int64* found_1) {         // partial results of chunks
    const int thread = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= 1) return;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 32 + (v * 32 + thread)];
    }
    int64 sum_1_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_1_of[c] = 0LL;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_1_of[v] = found_1[row * 32 + (v * 32 + thread)];
    }
    const float sum = combined<Sum, 1, 32, 0>(sum_of);
    const int64 sum_1 = combined<Sum, 1, 32, 1>(sum_1_of);
    const float v1 = sum / float(max(1LL, sum_1));
    if (thread == 0) {
        out[0] = v1;
    }
}
