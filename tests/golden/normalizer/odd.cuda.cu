// def normalizer(x):
//     return x.logsumexp(-1)
//
// prelude: int64 uint32 bfloat16 inf bit_cast Vec words_at maximum Sum Largest from_thread with_thread tree unsigned_of load_in_row place_of in_turn Deal of_block of_runs combined combined_of_runs

// where: n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == bf16, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 49152 < n1 <= 57344, 1 <= x.size(0)*x.size(1) <= 2139095039,
//   x.size(0)*x.size(1) + 1 - x.size(1) <= 2147483647
// launch: entry=normalizer, grid=x.size(0), block=256, args=x, x, out, n1, n1
extern "C" __global__ void __launch_bounds__(256, 6) normalizer(
        const bfloat16* __restrict__ x_0,  // contiguous
        const bfloat16* __restrict__ x_1,  // at row * x_stride0
        bfloat16* __restrict__ out,        // at row
        const uint32 n1,                   // extent of i1
        const int x_stride0) {
    const int row = blockIdx.x;

    const auto x_0_row = x_0 + row * n1;
    const float v1 = float(x_1[row * x_stride0]);
    const float v2 = v1 * -1.442695f;
    float largest_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        largest_of[c] = -inf;
    }
    __shared__ float sum_of_runs[8][256];
#pragma unroll 1
    for (int r = 0; r < 8; ++r) {
        Vec<bfloat16, 8> x_0_8[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 8 + r * 2048 + v * 16384;
            if (v < 3 || i < n1) {
                x_0_8[v] = load_in_row<8>(x_0_row, i, n1);
            }
        }
        float sum_of[8];
#pragma unroll
        for (int c = 0; c < 8; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 8 + r * 2048 + v * 16384;
            if (v < 3 || i < n1) {
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v3 = float(x_0_8[v][k]);
                    const float v4 = exp2f(fmaf(v3, 1.442695f, v2));
                    if (v < 3 || i + k < n1) {
                        largest_of[0] = maximum(v3, largest_of[0]);
                        sum_of[k] = sum_of[k] + v4;
                    }
                }
            }
        }
        sum_of_runs[r][threadIdx.x] = tree<Sum, 8>(sum_of);
    }
    const float largest = combined<Largest, 1, 256, 0>(largest_of);
    float sum = combined_of_runs<Sum, 1, 256, 1>(sum_of_runs);
    const bool v5 = fabsf(largest - v1) <= 64.0f && fabsf(v1) <= 1048576.0f;
    const float v6 = fabsf(largest) == inf ? 3.3895314e+38f : largest;
    if (!v5) {
#pragma unroll 1
        for (int r = 0; r < 8; ++r) {
            float sum_again_of[8];
#pragma unroll
            for (int c = 0; c < 8; ++c) {
                sum_again_of[c] = 0.0f;
            }
#pragma unroll 1
            for (int i = threadIdx.x * 8 + r * 2048; i < n1; i += 16384) {
                const auto x_0_8_1 = load_in_row<8>(x_0_row, i, n1);
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v7 = expf(float(x_0_8_1[k]) - v6);
                    if (i + k < n1) {
                        sum_again_of[k] = sum_again_of[k] + v7;
                    }
                }
            }
            sum_of_runs[r][threadIdx.x] = tree<Sum, 8>(sum_again_of);
        }
        const float sum_again = combined_of_runs<Sum, 1, 256, 2>(sum_of_runs);
        sum = sum_again;
    }
    const float v8 = sum * exp2f(fmaf(v6, -1.442695f, -v2));
    const bfloat16 v9 = bfloat16(logf(v5 ? (v8 < 1.0000005f ? 1.0f : v8) : sum) + v6);
    if (threadIdx.x == 0) {
        out[row] = v9;
    }
}
