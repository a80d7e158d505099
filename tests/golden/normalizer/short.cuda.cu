// def normalizer(x):
//     return x.logsumexp(-1)
//
// prelude: int64 uint32 bfloat16 inf Vec load maximum Sum Largest from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0), n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == bf16, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 192 < n1 <= 224, 1 <= x.size(0)*x.size(1) <= 2139095039, x.size(0)*x.size(1) + 1 - x.size(1) <= 2147483647,
//   n1 % 8 == 0
// launch: entry=normalizer, grid=ceil(n0 / 16), block=256, args=x, x, out, n0, n1, n1
extern "C" __global__ void __launch_bounds__(256) normalizer(
        const bfloat16* __restrict__ x_0,  // contiguous
        const bfloat16* __restrict__ x_1,  // at row * x_stride0
        bfloat16* __restrict__ out,        // at row
        const uint32 n0,                   // extent of i0
        const uint32 n1,                   // extent of i1
        const int x_stride0) {
    const int thread = threadIdx.x % 16;
    const int row = blockIdx.x * 16 + threadIdx.x / 16;
    if (row >= n0) return;

    const auto x_0_row = x_0 + row * n1;
    const float v1 = float(x_1[row * x_stride0]);
    const float v2 = v1 * -1.442695f;
    Vec<bfloat16, 8> x_0_8[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = thread * 8 + v * 128;
        if (v < 1 || i < n1) {
            x_0_8[v] = load<8>(x_0_row, i);
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
    for (int v = 0; v < 2; ++v) {
        const int i = thread * 8 + v * 128;
        if (v < 1 || i < n1) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v3 = float(x_0_8[v][k]);
                largest_of[k] = maximum(v3, largest_of[k]);
                sum_of[k] = sum_of[k] + exp2f(fmaf(v3, 1.442695f, v2));
            }
        }
    }
    const float largest = combined<Largest, 8, 16, 0>(largest_of);
    float sum = combined<Sum, 8, 16, 1>(sum_of);
    const bool v4 = fabsf(largest - v1) <= 64.0f && fabsf(v1) <= 1048576.0f;
    const float v5 = fabsf(largest) == inf ? 3.3895314e+38f : largest;
    if (__any_sync(~0u, !v4)) {
        float sum_again_of[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            sum_again_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = thread * 8 + v * 128;
            if (v < 1 || i < n1) {
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    sum_again_of[k] = sum_again_of[k] + expf(float(x_0_8[v][k]) - v5);
                }
            }
        }
        const float sum_again = combined<Sum, 8, 16, 2>(sum_again_of);
        if (!v4) {
            sum = sum_again;
        }
    }
    const float v6 = sum * exp2f(fmaf(v5, -1.442695f, -v2));
    const bfloat16 v7 = bfloat16(logf(v4 ? (v6 < 1.0000005f ? 1.0f : v6) : sum) + v5);
    if (thread == 0) {
        out[row] = v7;
    }
}
