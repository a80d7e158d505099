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
// prelude: int64 uint32 Vec load store maximum minimum Sum quotient_of from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: pred.dtype == f32, pred.dim() == 2, pred.is_contiguous(), aligned(pred, 16)
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: out1.dtype == f32, out1.dim() == 2, out1.size(0) == pred.size(0), out1.size(1) == 4, out1.is_contiguous(),
//   aligned(out1, 16)
// requires: no_overlap(out1, pred, target)
// requires: 65536 < n0 <= 131072, 1 <= n0 <= 2139095039, pred.size(0)*4 - 3 <= 2147483647, n0 % 8 == 0
// scratch: found = empty(f32, 32)
// launch: entry=giou_loss_value_and_grad, grid=32, block=512, args=pred, target, out1, found, n0, 4, 4, 4
extern "C" __global__ void __launch_bounds__(512) giou_loss_value_and_grad(
        const float* __restrict__ pred,    // at i * pred_stride + 0..3
        const float* __restrict__ target,  // at i * target_stride + 0..3
        float* __restrict__ out1,          // at i * out1_stride + 0..3
        float* found,                      // partial results of chunks
        const uint32 n0,                   // extent of i0
        const int target_stride,
        const int pred_stride,
        const int out1_stride) {
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;
    const int last = n0 - 1;

    float sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0.0f;
    }
    for (int from = chunk * 1024 + threadIdx.x; from < n0; from += 32768) {
        Vec<float, 4> target4[2], pred4[2];
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            const int at = min(i, last);
            target4[v] = load<4>(target, at * target_stride);
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            const int at = min(i, last);
            const float v1 = (target4[v][2] - target4[v][0]) * (target4[v][3] - target4[v][1]);
            const bool valid = v1 > 0.0f;
            if (valid) {
                pred4[v] = load<4>(pred, at * pred_stride);
            }
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            if (i < n0) {
                const float v2 = (target4[v][2] - target4[v][0]) * (target4[v][3] - target4[v][1]);
                const bool valid = v2 > 0.0f;
                float chosen = 0.0f;
                float chosen_1 = 0.0f;
                float chosen_2 = 0.0f;
                float chosen_3 = 0.0f;
                float chosen_4 = 0.0f;
                if (valid) {
                    const float rb = minimum(pred4[v][2], target4[v][2]);
                    const float lt = maximum(pred4[v][0], target4[v][0]);
                    const float v3 = rb - lt;
                    const float w = maximum(0.0f, v3);
                    const float rb_1 = minimum(pred4[v][3], target4[v][3]);
                    const float lt_1 = maximum(pred4[v][1], target4[v][1]);
                    const float v4 = rb_1 - lt_1;
                    const float h = maximum(0.0f, v4);
                    const float overlap = w * h;
                    const float v5 = pred4[v][2] - pred4[v][0];
                    const float v6 = pred4[v][3] - pred4[v][1];
                    const float union_ = v5 * v6 + v2 - overlap;
                    const float v7 = union_ + 1e-07f;
                    const float v8 = quotient_of(overlap, v7);
                    const float erb = maximum(pred4[v][2], target4[v][2]);
                    const float elt = minimum(pred4[v][0], target4[v][0]);
                    const float v9 = erb - elt;
                    const float ew = maximum(0.0f, v9);
                    const float erb_1 = maximum(pred4[v][3], target4[v][3]);
                    const float elt_1 = minimum(pred4[v][1], target4[v][1]);
                    const float v10 = erb_1 - elt_1;
                    const float eh = maximum(0.0f, v10);
                    const float hull = ew * eh;
                    const float v11 = hull + 1e-07f;
                    const float v12 = quotient_of(hull - union_, v11);
                    const float giou = v8 - v12;
                    const bool v13 = pred4[v][0] == target4[v][0];
                    const float v14 = quotient_of(1.0f, v11);
                    const float v15 = -1.0f * quotient_of(v12, v11) + v14;
                    const float v16 = v9 >= 0.0f ? v15 * eh : 0.0f;
                    const float v17 = -v16;
                    const float v18 = -v14 + quotient_of(v8, v7);
                    const float v19 = v18 * v6;
                    const float v20 = v13 ? v17 / 2.0f : pred4[v][0] >= target4[v][0] ? 0.0f : v17;
                    const float v21 = quotient_of(-1.0f, v7) - v18;
                    const float v22 = v3 >= 0.0f ? v21 * h : 0.0f;
                    const float v23 = -v22;
                    const float v24 = v13 ? v23 / 2.0f : pred4[v][0] <= target4[v][0] ? 0.0f : v23;
                    const bool v25 = pred4[v][1] == target4[v][1];
                    const float v26 = v10 >= 0.0f ? v15 * ew : 0.0f;
                    const float v27 = -v26;
                    const float v28 = v18 * v5;
                    const float v29 = v25 ? v27 / 2.0f : pred4[v][1] >= target4[v][1] ? 0.0f : v27;
                    const float v30 = v4 >= 0.0f ? v21 * w : 0.0f;
                    const float v31 = -v30;
                    const float v32 = v25 ? v31 / 2.0f : pred4[v][1] <= target4[v][1] ? 0.0f : v31;
                    const bool v33 = pred4[v][2] == target4[v][2];
                    const float v34 = v33 ? v16 / 2.0f : pred4[v][2] <= target4[v][2] ? 0.0f : v16;
                    const float v35 = v33 ? v22 / 2.0f : pred4[v][2] >= target4[v][2] ? 0.0f : v22;
                    const bool v36 = pred4[v][3] == target4[v][3];
                    const float v37 = v36 ? v26 / 2.0f : pred4[v][3] <= target4[v][3] ? 0.0f : v26;
                    const float v38 = v36 ? v30 / 2.0f : pred4[v][3] >= target4[v][3] ? 0.0f : v30;
                    chosen = 1.0f - giou;
                    chosen_1 = v20 - v19 + v24;
                    chosen_2 = v29 - v28 + v32;
                    chosen_3 = v34 + v19 + v35;
                    chosen_4 = v37 + v28 + v38;
                }
                sum_of[v] = sum_of[v] + chosen;
                store(out1, i * out1_stride, Vec<float, 4>{chosen_1, chosen_2, chosen_3, chosen_4});
            }
        }
    }
    const float sum = combined<Sum, 1, 512, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
    }
}

// requires: out0.dtype == f32, out0.dim() == 0
// launch: entry=giou_loss_value_and_grad_rest, grid=1, block=128, args=out0, found
extern "C" __global__ void __launch_bounds__(128) giou_loss_value_and_grad_rest(
        float* __restrict__ out0,  // one element
        float* found) {            // partial results of chunks
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
    const float sum = combined<Sum, 1, 32, 0>(sum_of);
    if (thread == 0) {
        out0[0] = sum;
    }
}
