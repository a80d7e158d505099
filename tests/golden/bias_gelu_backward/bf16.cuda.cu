// def bias_gelu(x, b, r):
//     return F.gelu(x + b) + r
//
// prelude: int64 uint32 bfloat16 Vec load store approximate_reciprocal Sum from_thread with_thread tree carry combined_across

extern "C" __global__ void __launch_bounds__(256) bias_gelu_backward(
        const bfloat16* __restrict__ x,     // at row + i * x_stride1
        const bfloat16* __restrict__ b,     // at row
        const bfloat16* __restrict__ grad,  // at row + i * grad_stride1
        bfloat16* __restrict__ out0,        // at row + i * out0_stride1
        float* found,                       // partial results of chunks
        const uint32 n0,                    // extent of i0
        const uint32 n1,                    // extent of i1
        const int grad_stride1,
        const int x_stride1,
        const int out0_stride1) {
    const int blocks = (n0 + 255) / 256;
    const int chunk = blockIdx.x / blocks;
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x % blocks * 256 + threadIdx.x % 32 * 8;
    if (row >= n0) return;
    const int last = n1 - 1;

    const auto b8 = load<8>(b, row);
    Vec<float, 8> sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            sum_of[c][k] = 0.0f;
        }
    }
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 4096) {
        Vec<bfloat16, 8> grad8[4], x8[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            const int at = min(i, last);
            grad8[v] = load<8>(grad, row + at * grad_stride1);
            x8[v] = load<8>(x, row + at * x_stride1);
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            if (i < n1) {
                Vec<bfloat16, 8> out0_8;
#pragma unroll
                for (int k = 0; k < 8; ++k) {
                    const float v1 = float(grad8[v][k]);
                    const float v2 = float(x8[v][k]) + float(b8[k]);
                    const float v3 = exp2f(v2 * v2 * -0.7213475f) * 0.3989423f;
                    const float v4 = approximate_reciprocal(fmaf(fabsf(v2), 0.2316419f, 1.0f));
                    const float v5 = fmaf(v4, fmaf(v4, 1.3302745f, -1.8212559f), 1.7814779f);
                    const float v6 = v3 * v4 * fmaf(v4, fmaf(v4, v5, -0.35656378f), 0.31938154f);
                    const float v7 = (v2 < 0.0f ? v6 : 1.0f - v6) + v2 * v3;
                    sum_of[v][k] = fmaf(v1, v7, sum_of[v][k]);
                    out0_8[k] = bfloat16(v1 * v7);
                }
                store(out0, row + i * out0_stride1, out0_8);
            }
        }
    }
    const Vec<float, 8> sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 4>(sum_of));
    if (thread == 0) {
        store(found, chunk * n0 + row, sum);
    }
}

extern "C" __global__ void __launch_bounds__(256) bias_gelu_backward_rest(
        bfloat16* __restrict__ out1,  // at row
        float* found,                 // partial results of chunks
        const uint32 n0) {            // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 16;

    float sum_levels[3];
#pragma unroll
    for (int g = 0; g < 16; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[2]);
    const bfloat16 v1 = bfloat16(sum);
    if (thread == 0) {
        out1[row] = v1;
    }
}
