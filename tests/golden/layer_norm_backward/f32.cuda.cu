// def layer_norm(x, weight, bias):
//     return F.layer_norm(x, (x.shape[-1],), weight, bias)
//
// prelude: int64 uint32 inf Vec load store minimum Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined carry combined_across

// where: n0 = x.size(0), n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.size(0) == grad.size(0), x.size(1) == grad.size(1), weight.size(0) == x.size(1),
//   bias.size(0) == x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: weight.dtype == f32, weight.dim() == 1, weight.is_contiguous(), aligned(weight, 16)
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous(), aligned(grad, 16)
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1),
//   out0.is_contiguous(), aligned(out0, 16)
// requires: no_overlap(out0, x, weight, grad)
// requires: n1 == 4096, 1 <= x.size(0)*x.size(1) <= 2139095039, x.size(0)*x.size(1) + 1 - x.size(1) <= 2147483647,
//   n1 % 8 == 0
// scratch: found = empty(f32, n1 * 256), found_1 = empty(f32, n1 * 256)
// launch: entry=layer_norm_backward, grid=256, block=256, args=x, x + (x.size(1)*3 // 6), x + (x.size(1) // 6),
//   x + (x.size(1)*5 // 6), weight, grad, float32(1 / x.size(1)), out0, found, found_1, n0, n1, n1
extern "C" __global__ void __launch_bounds__(256, 2) layer_norm_backward(
        const float* __restrict__ x_0,     // contiguous
        const float* __restrict__ x_1,     // at row * x_stride0
        const float* __restrict__ x_2,     // at row * x_stride0
        const float* __restrict__ x_3,     // at row * x_stride0
        const float* __restrict__ weight,  // at i
        const float* __restrict__ grad,    // contiguous
        const float s1,                    // float32(1 / x.size(1))
        float* __restrict__ out0,          // contiguous
        float* found,                      // partial results of chunks
        float* found_1,                    // partial results of chunks
        const uint32 n0,                   // extent of i0
        const uint32 n1,                   // extent of i1
        const int x_stride0) {
    const int chunk = blockIdx.x;

    Vec<float, 4> sum_of_columns[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of_columns[c][k] = 0.0f;
        }
    }
    Vec<float, 4> sum_of_columns_1[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of_columns_1[c][k] = 0.0f;
        }
    }
    Vec<float, 4> next_x_0_4[4], next_grad4[4];
    if (chunk < n0) {
        const auto x_0_row = x_0 + chunk * n1;
        const auto grad_row = grad + chunk * n1;
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            next_x_0_4[v] = load<4>(x_0_row, i);
            next_grad4[v] = load<4>(grad_row, i);
        }
    }
#pragma unroll 1
    for (int row = chunk; row < n0; row += 256) {
        const float x_1_value = x_1[row * x_stride0];
        const float x_2_value = x_2[row * x_stride0];
        const float x_3_value = x_3[row * x_stride0];
        const bool v1 = x_2_value < x_3_value;
        const float v2 = v1 ? x_2_value : x_3_value;
        const float v3 = v1 ? x_3_value : x_2_value;
        const float v4 = x_1_value < v2 ? v2 : x_1_value < v3 ? x_1_value : v3;
        const float v5 = fabsf(v4) < inf ? v4 : 0.0f;
        Vec<float, 4> x_0_4[4], grad4[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            x_0_4[v] = next_x_0_4[v];
            grad4[v] = next_grad4[v];
        }
        const int next = row + 256;
        if (next < n0) {
            const auto x_0_row_1 = x_0 + next * n1;
            const auto grad_row_1 = grad + next * n1;
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = threadIdx.x * 4 + v * 1024;
                next_x_0_4[v] = load<4>(x_0_row_1, i);
                next_grad4[v] = load<4>(grad_row_1, i);
            }
        }
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_1_of[c] = 0.0f;
        }
        float sum_2_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_2_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v6 = x_0_4[v][k] - v5;
                sum_of[k] = fmaf(v6, v6, sum_of[k]);
                sum_1_of[k] = sum_1_of[k] + v6;
                sum_2_of[k] = sum_2_of[k] + x_0_4[v][k];
                sum_of_columns[v][k] = sum_of_columns[v][k] + grad4[v][k];
            }
        }
        const float sum = combined<Sum, 4, 256, 0>(sum_of);
        const float sum_1 = combined<Sum, 4, 256, 1>(sum_1_of);
        const float sum_2 = combined<Sum, 4, 256, 2>(sum_2_of);
        const float v7 = sum == inf ? sum_1 * 0.0f : minimum(sum_1 * (sum_1 * s1), sum);
        const float v8 = rsqrtf((sum - v7) * s1 + 1e-05f);
        const float v9 = -0.5f * v8 * v8;
        const float v10 = sum_2 * s1;
        float sum_3_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_3_of[c] = 0.0f;
        }
        float sum_4_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_4_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            const auto weight4 = load<4>(weight, i);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v11 = grad4[v][k] * (x_0_4[v][k] - v10);
                sum_3_of[k] = fmaf(v9 * (v11 * weight4[k] * v8), s1, sum_3_of[k]);
                sum_4_of[k] = fmaf(-(grad4[v][k] * (v8 * weight4[k])), s1, sum_4_of[k]);
                sum_of_columns_1[v][k] = fmaf(v11, v8, sum_of_columns_1[v][k]);
            }
        }
        const float sum_3 = combined<Sum, 4, 256, 3>(sum_3_of);
        const float sum_4 = combined<Sum, 4, 256, 4>(sum_4_of);
        const float v12 = sum_3 * 2.0f;
        const auto out0_row = out0 + row * n1;
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            const auto weight4_1 = load<4>(weight, i);
            Vec<float, 4> out0_4;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v13 = v12 * (x_0_4[v][k] - v10) + grad4[v][k] * (v8 * weight4_1[k]);
                out0_4[k] = v13 + sum_4;
            }
            store(out0_row, i, out0_4);
        }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        store(found, chunk * n1 + i, sum_of_columns_1[v]);
        store(found_1, chunk * n1 + i, sum_of_columns[v]);
    }
}

// where: n0 = x.size(1)
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(1), out1.is_contiguous(), aligned(out1, 16)
// requires: out2.dtype == f32, out2.dim() == 1, out2.size(0) == x.size(1), out2.is_contiguous(), aligned(out2, 16)
// requires: no_overlap(out1, out2)
// requires: x.size(0) == 16384, 1 <= x.size(0)*x.size(1) <= 2139095039, x.size(0) % 8 == 0
// launch: entry=layer_norm_backward_1_rest, grid=ceil(n0 / 32), block=256, args=out1, out2, found, found_1, n0
extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_1_rest(
        float* __restrict__ out1,  // at row
        float* __restrict__ out2,  // at row
        float* found,              // partial results of chunks
        float* found_1,            // partial results of chunks
        const uint32 n0) {         // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 32;

    float sum_levels[4], sum_1_levels[4];
#pragma unroll
    for (int g = 0; g < 32; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_1_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
            sum_1_of[v] = sum_1_of[v] + found_1[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
        carry<Sum>(sum_1_levels, g / 4, tree<Sum, 4>(sum_1_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[3]);
    const float sum_1 = combined_across<Sum, 8, 32, 1>(sum_1_levels[3]);
    if (thread == 0) {
        out1[row] = sum;
        out2[row] = sum_1;
    }
}
