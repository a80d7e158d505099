// def loss(logits, target):
//     return F.cross_entropy(logits, target)
//
// prelude: int64 uint32 bfloat16 inf nan Vec load load_if store add maximum Sum Largest from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = logits.size(0)
// requires: logits.size(1) > 0 or logits.size(0) == 0, target.size(0) == logits.size(0)
// requires: target.dtype == i64, target.dim() == 1, target.is_contiguous(), aligned(target, 16)
// requires: 896 < n0 <= 1024, 1 <= n0 <= 2139095039, n0 % 8 == 0
// scratch: workspace0 = empty(i64, 1)
// launch: entry=loss_backward, grid=1, block=128, args=target, workspace0, n0
extern "C" __global__ void __launch_bounds__(128) loss_backward(
        const int64* __restrict__ target,  // contiguous
        int64* __restrict__ workspace,     // one element
        const uint32 n0) {                 // extent of i0
    Vec<int64, 2> target2[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 2 + v * 256;
        const bool is_element = v < 3 || i < n0;
        target2[v] = load_if<2>(target, i, is_element);
    }
    int64 sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0LL;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 2 + v * 256;
        const bool is_element = v < 3 || i < n0;
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            sum_of[k] = is_element ? add(sum_of[k], int64(target2[v][k] != -100LL)) : sum_of[k];
        }
    }
    const int64 sum = combined<Sum, 2, 128, 0>(sum_of);
    if (threadIdx.x == 0) {
        workspace[0] = sum;
    }
}

// where: n1 = logits.size(1), logits_stride0 = logits.size(1)
// requires: logits.dtype == bf16, logits.dim() == 2, logits.is_contiguous(), aligned(logits, 16)
// requires: target.dtype == i64, target.dim() == 1, target.is_contiguous(), aligned(target, 16)
// requires: grad.dtype == bf16, grad.dim() == 0
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == logits.size(0), out.size(1) == logits.size(1),
//   out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, logits, target, grad)
// requires: 4096 < n1 <= 5120, 1 <= logits.size(0)*logits.size(1) <= 2139095039,
//   logits.size(0)*logits.size(1) + 1 - logits.size(1) <= 2147483647, n1 % 8 == 0
// launch: entry=loss_backward_1, grid=logits.size(0), block=256, args=workspace0, logits, logits, target, grad,
//   logits.size(1), out, n1, n1
extern "C" __global__ void __launch_bounds__(256) loss_backward_1(
        const int64* __restrict__ workspace,    // one element
        const bfloat16* __restrict__ logits_0,  // contiguous
        const bfloat16* __restrict__ logits_1,  // at row * logits_stride0
        const int64* __restrict__ target,       // at row
        const bfloat16* __restrict__ grad,      // one element
        const int64 s1,                         // logits.size(1)
        bfloat16* __restrict__ out,             // contiguous
        const uint32 n1,                        // extent of i1
        const int logits_stride0) {
    const int row = blockIdx.x;

    const auto logits_0_row = logits_0 + row * n1;
    const float v1 = float(logits_1[row * logits_stride0]);
    const float v2 = v1 * -1.442695f;
    Vec<bfloat16, 8> logits_0_8[3];
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
            logits_0_8[v] = load<8>(logits_0_row, i);
        }
    }
    float largest_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        largest_of[c] = -inf;
    }
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v3 = float(logits_0_8[v][k]);
                largest_of[k] = maximum(v3, largest_of[k]);
                sum_of[k] = sum_of[k] + exp2f(fmaf(v3, 1.442695f, v2));
            }
        }
    }
    const float largest = combined<Largest, 8, 256, 0>(largest_of);
    float sum = combined<Sum, 8, 256, 1>(sum_of);
    const bool v4 = fabsf(largest - v1) <= 64.0f && fabsf(v1) <= 1048576.0f;
    if (!v4) {
        float sum_again_of[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            sum_again_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 3; ++v) {
            const int i = threadIdx.x * 8 + v * 2048;
            if (v < 2 || i < n1) {
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    sum_again_of[k] = sum_again_of[k] + expf(float(logits_0_8[v][k]) - largest);
                }
            }
        }
        const float sum_again = combined<Sum, 8, 256, 2>(sum_again_of);
        sum = sum_again;
    }
    const int64 target_value = target[row];
    const bool v5 = target_value != -100LL;
    const int64 v6 = v5 ? target_value : 0LL;
    const int64 v7 = v6 < 0LL ? 9223372036854775807LL : v6;
    const int64 v8 = add(v7, s1);
    const int64 v9 = v7 < 0LL ? (v8 < 0LL ? 9223372036854775807LL : v8) : v7;
    const bool v10 = target_value < 0LL || target_value >= s1;
    const bool v11 = v5 && !v10;
    const bool v12 = v5 && v10;
    const bool v13 = v11 || v12;
    const float v14 = float(grad[0]) / float(workspace[0]);
    const float v15 = (v11 ? v14 : 0.0f) + (v12 ? v14 * nan : 0.0f);
    const float v16 = v13 ? -v15 : 0.0f;
    const float v17 = sum * exp2f(fmaf(largest, -1.442695f, -v2));
    const float v18 = v13 ? v15 / (v4 ? (v17 < 1.0000005f ? 1.0f : v17) : sum) : 0.0f;
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 3; ++v) {
        const int i = threadIdx.x * 8 + v * 2048;
        if (v < 2 || i < n1) {
            Vec<bfloat16, 8> out8;
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v19 = v18 * expf(float(logits_0_8[v][k]) - largest);
                out8[k] = bfloat16((int64(i + k) == v9 ? v16 : 0.0f) + v19);
            }
            store(out_row, i, out8);
        }
    }
}
