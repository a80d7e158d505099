// def layer_norm(x, weight, bias):
//     return F.layer_norm(x, (x.shape[-1],), weight, bias)
//
// prelude: fabsf sqrtf int64 argument smaller_of inf minimum Sum Whole Part over in_pieces combined

// where: n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.size(0) == grad.size(0), x.size(1) == grad.size(1), weight.size(0) == x.size(1),
//   bias.size(0) == x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: weight.dtype == f32, weight.dim() == 1, weight.is_contiguous()
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1),
//   out0.is_contiguous()
// requires: no_overlap(out0, x, weight, grad)
// requires: 2048 < n1 <= 4096, x.size(0)*x.size(1) >= 1
// scratch: workspace0 = empty(f32, x.size(0)), workspace1 = empty(f32, x.size(0)), workspace2 = empty(f32, x.size(0))
// launch: entry=layer_norm_backward, units=x.size(0), args=x, x + (x.size(1)*3 // 6), x + (x.size(1) // 6),
//   x + (x.size(1)*5 // 6), weight, grad, f32(float(x.size(1))), out0, workspace0, workspace1, workspace2, i64(n1),
//   i64(n1)
extern "C" void layer_norm_backward(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x_0 = argument<const float*>(arguments[0]);     // contiguous
    const float* __restrict x_1 = argument<const float*>(arguments[1]);     // at row * x_stride0
    const float* __restrict x_2 = argument<const float*>(arguments[2]);     // at row * x_stride0
    const float* __restrict x_3 = argument<const float*>(arguments[3]);     // at row * x_stride0
    const float* __restrict weight = argument<const float*>(arguments[4]);  // at first + k
    const float* __restrict grad = argument<const float*>(arguments[5]);    // contiguous
    const float s1 = argument<float>(arguments[6]);                         // float(x.size(1))
    float* __restrict out0 = argument<float*>(arguments[7]);                // contiguous
    float* __restrict workspace = argument<float*>(arguments[8]);           // at row
    float* __restrict workspace_1 = argument<float*>(arguments[9]);         // at row
    float* __restrict workspace_2 = argument<float*>(arguments[10]);        // at row
    const int64 n1 = argument<int64>(arguments[11]);                        // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[12]);

    for (int64 row = begin; row < end; ++row) {
        const auto x_0_row = x_0 + row * n1;
        const float x_1_value = x_1[row * x_stride0];
        const float x_2_value = x_2[row * x_stride0];
        const float x_3_value = x_3[row * x_stride0];
        const bool v1 = x_2_value < x_3_value;
        const float v2 = v1 ? x_2_value : x_3_value;
        const float v3 = v1 ? x_3_value : x_2_value;
        const float v4 = x_1_value < v2 ? v2 : x_1_value < v3 ? x_1_value : v3;
        const float v5 = fabsf(v4) < inf ? v4 : 0.0f;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0.0f;
        }
        float sum_2_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_2_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            float sum_2_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_2_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float x_0_k = valid ? x_0_row[first + k] : 0.0f;
                    const float v6 = x_0_k - v5;
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v6 * v6 : sum_of_chunk_of[k];
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + v6 : sum_1_of_chunk_of[k];
                    sum_2_of_chunk_of[k] = valid ? sum_2_of_chunk_of[k] + x_0_k : sum_2_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            const float sum_2_of_chunk = combined<Sum>(sum_2_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
            sum_1_of[chunk % 64] = sum_1_of[chunk % 64] + sum_1_of_chunk;
            sum_2_of[chunk % 64] = sum_2_of[chunk % 64] + sum_2_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const float sum_1 = combined<Sum>(sum_1_of);
        const float sum_2 = combined<Sum>(sum_2_of);
        const float v7 = sum == inf ? sum_1 * 0.0f : minimum(sum_1 * (sum_1 / s1), sum);
        const float v8 = 1.0f / sqrtf((sum - v7) / s1 + 1e-05f);
        const float v9 = -0.5f * v8 * v8;
        const auto grad_row = grad + row * n1;
        const float v10 = sum_2 / s1;
        float sum_3_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_3_of[c] = 0.0f;
        }
        float sum_4_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_4_of[c] = 0.0f;
        }
        for (int64 chunk_1 = 0; chunk_1 < (n1 + 1023) / 1024; ++chunk_1) {
            const int64 from_1 = chunk_1 * 1024;
            const int64 to_1 = smaller_of(from_1 + 1024, n1);
            float sum_3_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_3_of_chunk_of[c] = 0.0f;
            }
            float sum_4_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_4_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from_1, to_1, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float grad_k = valid ? grad_row[first + k] : 0.0f;
                    const float weight_k = valid ? weight[first + k] : 0.0f;
                    const float v11 = grad_k * ((valid ? x_0_row[first + k] : 0.0f) - v10) * weight_k;
                    const float v12 = v9 * (v11 * v8) / s1;
                    sum_3_of_chunk_of[k] = valid ? sum_3_of_chunk_of[k] + v12 : sum_3_of_chunk_of[k];
                    const float v13 = -(grad_k * (v8 * weight_k)) / s1;
                    sum_4_of_chunk_of[k] = valid ? sum_4_of_chunk_of[k] + v13 : sum_4_of_chunk_of[k];
                });
            });
            const float sum_3_of_chunk = combined<Sum>(sum_3_of_chunk_of);
            const float sum_4_of_chunk = combined<Sum>(sum_4_of_chunk_of);
            sum_3_of[chunk_1 % 64] = sum_3_of[chunk_1 % 64] + sum_3_of_chunk;
            sum_4_of[chunk_1 % 64] = sum_4_of[chunk_1 % 64] + sum_4_of_chunk;
        }
        const float sum_3 = combined<Sum>(sum_3_of);
        const float sum_4 = combined<Sum>(sum_4_of);
        const float v14 = sum_3 * 2.0f;
        const auto out0_row = out0 + row * n1;
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float v15 = v8 * (valid ? weight[first + k] : 0.0f);
                const float v16 = v14 * ((valid ? x_0_row[first + k] : 0.0f) - v10);
                const float v17 = v16 + (valid ? grad_row[first + k] : 0.0f) * v15 + sum_4;
                if (valid) {
                    out0_row[first + k] = v17;
                }
            });
        });
        workspace[row] = sum;
        workspace_1[row] = sum_1;
        workspace_2[row] = sum_2;
    }
}

// where: n1 = x.size(0), x_stride1 = x.size(1), grad_stride1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(1), out1.is_contiguous()
// requires: out2.dtype == f32, out2.dim() == 1, out2.size(0) == x.size(1), out2.is_contiguous()
// requires: no_overlap(out1, x, grad, out2), no_overlap(out2, x, grad)
// requires: 8192 < n1 <= 16384, x.size(0)*x.size(1) >= 1
// launch: entry=layer_norm_backward_1, units=x_stride1, args=x, workspace0, workspace1, workspace2, grad,
//   f32(float(x.size(1))), out1, out2, i64(n1), i64(x_stride1), i64(x_stride1)
extern "C" void layer_norm_backward_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);            // at row + (first + k) * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);    // at first + k
    const float* __restrict workspace_1 = argument<const float*>(arguments[2]);  // at first + k
    const float* __restrict workspace_2 = argument<const float*>(arguments[3]);  // at first + k
    const float* __restrict grad = argument<const float*>(arguments[4]);         // at row + (first + k) * grad_stride1
    const float s1 = argument<float>(arguments[5]);                              // float(x.size(1))
    float* __restrict out1 = argument<float*>(arguments[6]);                     // at row
    float* __restrict out2 = argument<float*>(arguments[7]);                     // at row
    const int64 n1 = argument<int64>(arguments[8]);                              // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[9]);
    const int64 grad_stride1 = argument<int64>(arguments[10]);

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row;
        const auto grad_row = grad + row;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float workspace_k = valid ? workspace[first + k] : 0.0f;
                    const float workspace_1_k = valid ? workspace_1[first + k] : 0.0f;
                    const float v1 = minimum(workspace_1_k * (workspace_1_k / s1), workspace_k);
                    const float v2 = workspace_k - (workspace_k == inf ? workspace_1_k * 0.0f : v1);
                    const float grad_k = valid ? grad_row[(first + k) * grad_stride1] : 0.0f;
                    const float x_k = valid ? x_row[(first + k) * x_stride1] : 0.0f;
                    const float v3 = grad_k * (x_k - (valid ? workspace_2[first + k] : 0.0f) / s1);
                    const float v4 = v3 * (1.0f / sqrtf(v2 / s1 + 1e-05f));
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v4 : sum_of_chunk_of[k];
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + grad_k : sum_1_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
            sum_1_of[chunk % 64] = sum_1_of[chunk % 64] + sum_1_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const float sum_1 = combined<Sum>(sum_1_of);
        out1[row] = sum;
        out2[row] = sum_1;
    }
}
