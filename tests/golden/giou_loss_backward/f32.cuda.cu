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
// prelude: int64 uint32 Vec load store add maximum minimum Sum quotient_of from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = pred.size(0)
// requires: pred.size(0) == target.size(0), pred.size(1) == 4, target.size(1) == 4
// requires: target.dtype == f32, target.dim() == 2, target.is_contiguous(), aligned(target, 16)
// requires: 65536 < n0 <= 131072, 1 <= n0 <= 2139095039, pred.size(0)*4 - 3 <= 2147483647, n0 % 8 == 0
// scratch: found = empty(i64, 32)
// launch: entry=giou_loss_backward, grid=32, block=512, args=target, found, n0, 4
extern "C" __global__ void __launch_bounds__(512) giou_loss_backward(
        const float* __restrict__ target,  // at i * target_stride + 0..3
        int64* found,                      // partial results of chunks
        const uint32 n0,                   // extent of i0
        const int target_stride) {
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;
    const int last = n0 - 1;

    int64 sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0LL;
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
                sum_of[0] = add(sum_of[0], int64(valid));
            }
        }
    }
    const int64 sum = combined<Sum, 1, 512, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
    }
}

// requires: grad.dtype == f32, grad.dim() == 0
// scratch: workspace0 = empty(f32, 1)
// launch: entry=giou_loss_backward_rest, grid=1, block=128, args=grad, workspace0, found
extern "C" __global__ void __launch_bounds__(128) giou_loss_backward_rest(
        const float* __restrict__ grad,  // one element
        float* __restrict__ workspace,   // one element
        int64* found) {                  // partial results of chunks
    const int thread = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= 1) return;

    int64 sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0LL;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 32 + (v * 32 + thread)];
    }
    const int64 sum = combined<Sum, 1, 32, 0>(sum_of);
    const float v1 = grad[0] / float(max(1LL, sum));
    if (thread == 0) {
        workspace[0] = v1;
    }
}

// where: n = pred.size(0)
// requires: pred.dtype == f32, pred.dim() == 2, pred.size(1) == 4, pred.is_contiguous(), aligned(pred, 16)
// requires: target.dtype == f32, target.dim() == 2, target.size(1) == 4, target.is_contiguous(), aligned(target, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == pred.size(0), out.size(1) == 4, out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, pred, target)
// requires: 1 <= n <= 2147418111, pred.size(0)*4 - 3 <= 2147483647
// launch: entry=giou_loss_backward_1, grid=ceil(n / 256), block=128, args=pred, workspace0, target, out, n, 4, 4, 4
extern "C" __global__ void __launch_bounds__(128) giou_loss_backward_1(
        const float* __restrict__ pred,       // at i * pred_stride + 0..3
        const float* __restrict__ workspace,  // one element
        const float* __restrict__ target,     // at i * target_stride + 0..3
        float* __restrict__ out,              // at i * out_stride + 0..3
        const int n,                          // elements
        const int target_stride,
        const int pred_stride,
        const int out_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> target4[2], pred4[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int e = min(i + k * 128, n - 1);
        target4[k] = load<4>(target, e * target_stride);
    }
    const float workspace_value = workspace[0];
    const float v1 = -workspace_value;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float v2 = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const bool valid = v2 > 0.0f;
        const int e = min(i + k * 128, n - 1);
        if (valid) {
            pred4[k] = load<4>(pred, e * pred_stride);
        }
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float v3 = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const bool valid = v3 > 0.0f;
        float chosen = 0.0f;
        float chosen_1 = 0.0f;
        float chosen_2 = 0.0f;
        float chosen_3 = 0.0f;
        if (valid) {
            const bool v4 = pred4[k][0] == target4[k][0];
            const float erb = maximum(pred4[k][2], target4[k][2]);
            const float elt = minimum(pred4[k][0], target4[k][0]);
            const float v5 = erb - elt;
            const float ew = maximum(0.0f, v5);
            const float erb_1 = maximum(pred4[k][3], target4[k][3]);
            const float elt_1 = minimum(pred4[k][1], target4[k][1]);
            const float v6 = erb_1 - elt_1;
            const float eh = maximum(0.0f, v6);
            const float hull = ew * eh;
            const float v7 = pred4[k][2] - pred4[k][0];
            const float v8 = pred4[k][3] - pred4[k][1];
            const float rb = minimum(pred4[k][2], target4[k][2]);
            const float lt = maximum(pred4[k][0], target4[k][0]);
            const float v9 = rb - lt;
            const float w = maximum(0.0f, v9);
            const float rb_1 = minimum(pred4[k][3], target4[k][3]);
            const float lt_1 = maximum(pred4[k][1], target4[k][1]);
            const float v10 = rb_1 - lt_1;
            const float h = maximum(0.0f, v10);
            const float overlap = w * h;
            const float union_ = v7 * v8 + v3 - overlap;
            const float v11 = hull + 1e-07f;
            const float v12 = union_ + 1e-07f;
            const bool v13 = pred4[k][1] == target4[k][1];
            const bool v14 = pred4[k][2] == target4[k][2];
            const bool v15 = pred4[k][3] == target4[k][3];
            const float v16 = quotient_of(workspace_value, v11);
            const float v17 = v1 * quotient_of(quotient_of(hull - union_, v11), v11) + v16;
            const float v18 = v5 >= 0.0f ? v17 * eh : 0.0f;
            const float v19 = -v18;
            const float v20 = workspace_value * quotient_of(quotient_of(overlap, v12), v12);
            const float v21 = -v16 + v20;
            const float v22 = v21 * v8;
            const float v23 = v4 ? v19 / 2.0f : pred4[k][0] >= target4[k][0] ? 0.0f : v19;
            const float v24 = quotient_of(v1, v12) - v21;
            const float v25 = v9 >= 0.0f ? v24 * h : 0.0f;
            const float v26 = -v25;
            const float v27 = v4 ? v26 / 2.0f : pred4[k][0] <= target4[k][0] ? 0.0f : v26;
            const float v28 = v6 >= 0.0f ? v17 * ew : 0.0f;
            const float v29 = -v28;
            const float v30 = v21 * v7;
            const float v31 = v13 ? v29 / 2.0f : pred4[k][1] >= target4[k][1] ? 0.0f : v29;
            const float v32 = v10 >= 0.0f ? v24 * w : 0.0f;
            const float v33 = -v32;
            const float v34 = v13 ? v33 / 2.0f : pred4[k][1] <= target4[k][1] ? 0.0f : v33;
            const float v35 = v14 ? v18 / 2.0f : pred4[k][2] <= target4[k][2] ? 0.0f : v18;
            const float v36 = v14 ? v25 / 2.0f : pred4[k][2] >= target4[k][2] ? 0.0f : v25;
            const float v37 = v15 ? v28 / 2.0f : pred4[k][3] <= target4[k][3] ? 0.0f : v28;
            const float v38 = v15 ? v32 / 2.0f : pred4[k][3] >= target4[k][3] ? 0.0f : v32;
            chosen = v23 - v22 + v27;
            chosen_1 = v31 - v30 + v34;
            chosen_2 = v35 + v22 + v36;
            chosen_3 = v37 + v30 + v38;
        }
        const int e = i + k * 128;
        if (e < n) {
            store(out, e * out_stride, Vec<float, 4>{chosen, chosen_1, chosen_2, chosen_3});
        }
    }
}
