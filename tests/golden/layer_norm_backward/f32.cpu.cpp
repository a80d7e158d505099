// def layer_norm(x, weight, bias):
//     return F.layer_norm(x, (x.shape[-1],), weight, bias)
//
// prelude: fabsf sqrtf int64 argument smaller_of inf minimum Sum Whole Part over in_pieces combined combine_rows

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

// where: n0 = x.size(1), n1 = x.size(0), x_stride1 = x.size(1), grad_stride1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous()
// requires: 8192 < n1 <= 16384, x.size(0)*x.size(1) >= 1
// scratch: found = empty(f32, n0 * ceil(n1 / 1024)), found_1 = empty(f32, n0 * ceil(n1 / 1024))
// launch: entry=layer_norm_backward_1, units=ceil(n0 / 64) * ceil(n1 / 1024), args=x, workspace0, workspace1,
//   workspace2, grad, f32(float(x.size(1))), found, found_1, i64(n0), i64(n1), i64(n0), i64(n0)
extern "C" void layer_norm_backward_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);            // at row + k + i * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);    // at i
    const float* __restrict workspace_1 = argument<const float*>(arguments[2]);  // at i
    const float* __restrict workspace_2 = argument<const float*>(arguments[3]);  // at i
    const float* __restrict grad = argument<const float*>(arguments[4]);         // at row + k + i * grad_stride1
    const float s1 = argument<float>(arguments[5]);                              // float(x.size(1))
    float* found = argument<float*>(arguments[6]);                               // partial results of chunks
    float* found_1 = argument<float*>(arguments[7]);                             // partial results of chunks
    const int64 n0 = argument<int64>(arguments[8]);                              // extent of i0
    const int64 n1 = argument<int64>(arguments[9]);                              // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[10]);
    const int64 grad_stride1 = argument<int64>(arguments[11]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 units_of_chunk = (n0 + 63) / 64;
        const int64 chunk = unit / units_of_chunk;
        const int64 from_row = unit % units_of_chunk * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
            }
            float sum_1_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_1_of[c][k] = 0.0f;
                }
            }
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            for (int64 i = from; i < to; ++i) {
                const float workspace_k = workspace[i];
                const float workspace_1_k = workspace_1[i];
                const float v1 = minimum(workspace_1_k * (workspace_1_k / s1), workspace_k);
                const float v2 = workspace_k - (workspace_k == inf ? workspace_1_k * 0.0f : v1);
                const float v3 = 1.0f / sqrtf(v2 / s1 + 1e-05f);
                const float v4 = workspace_2[i] / s1;
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float grad_k = grad[row + k + i * grad_stride1];
                    const float v5 = grad_k * (x[row + k + i * x_stride1] - v4) * v3;
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + v5;
                    sum_1_of[class_of_i][k] = sum_1_of[class_of_i][k] + grad_k;
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
            float sum_1[64];
            combine_rows<Sum>(sum_1_of, sum_1);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                found[chunk * n0 + (row + k)] = sum[k];
                found_1[chunk * n0 + (row + k)] = sum_1[k];
            }
        });
    }
}

// where: n0 = x.size(1), n1 = x.size(0)
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(1), out1.is_contiguous()
// requires: out2.dtype == f32, out2.dim() == 1, out2.size(0) == x.size(1), out2.is_contiguous()
// requires: no_overlap(out1, out2)
// launch: entry=layer_norm_backward_1_rest, units=ceil(n0 / 64), args=out1, out2, found, found_1, i64(n0), i64(n1)
extern "C" void layer_norm_backward_1_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out1 = argument<float*>(arguments[0]);  // at row + k
    float* __restrict out2 = argument<float*>(arguments[1]);  // at row + k
    float* found = argument<float*>(arguments[2]);            // partial results of chunks
    float* found_1 = argument<float*>(arguments[3]);          // partial results of chunks
    const int64 n0 = argument<int64>(arguments[4]);           // extent of i0
    const int64 n1 = argument<int64>(arguments[5]);           // extent of i1

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 from_row = unit * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
            }
            float sum_1_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_1_of[c][k] = 0.0f;
                }
            }
            for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    sum_of[chunk % 64][k] = sum_of[chunk % 64][k] + found[chunk * n0 + (row + k)];
                    sum_1_of[chunk % 64][k] = sum_1_of[chunk % 64][k] + found_1[chunk * n0 + (row + k)];
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
            float sum_1[64];
            combine_rows<Sum>(sum_1_of, sum_1);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                out1[row + k] = sum[k];
                out2[row + k] = sum_1[k];
            }
        });
    }
}
