// def bias_gelu(x, b, r):
//     return F.gelu(x + b) + r
//
// prelude: INGOT_VECTOR erff int64 argument smaller_of bit_cast upper_half bfloat16 to_bfloat16 fused significand_of_exp exp_of Sum Whole Part over in_pieces combined

extern "C" void bias_gelu_backward(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);     // at row + (first + k) * x_stride1
    const bfloat16* __restrict b = argument<const bfloat16*>(arguments[1]);     // at row
    const bfloat16* __restrict grad = argument<const bfloat16*>(arguments[2]);  // at row + (first + k) * grad_stride1
    bfloat16* __restrict out0 = argument<bfloat16*>(arguments[3]);              // at row + (first + k) * out0_stride1
    bfloat16* __restrict out1 = argument<bfloat16*>(arguments[4]);              // at row
    const int64 n1 = argument<int64>(arguments[5]);                             // extent of i1
    const int64 grad_stride1 = argument<int64>(arguments[6]);
    const int64 x_stride1 = argument<int64>(arguments[7]);
    const int64 out0_stride1 = argument<int64>(arguments[8]);

    for (int64 row = begin; row < end; ++row) {
        const auto grad_row = grad + row;
        const auto x_row = x + row;
        const bfloat16 b_value = b[row];
        const float v1 = float(b_value);
        const auto out0_row = out0 + row;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const bfloat16 grad_k = valid ? grad_row[(first + k) * grad_stride1] : bfloat16();
                    const bfloat16 x_k = valid ? x_row[(first + k) * x_stride1] : bfloat16();
                    const float v2 = float(x_k) + v1;
                    const float v3 = v2 * (exp_of(-0.5f * v2 * v2) * 0.3989423f);
                    const float v4 = float(grad_k) * (0.5f * (1.0f + erff(v2 * 0.70710677f)) + v3);
                    const bfloat16 v5 = to_bfloat16(v4);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v4 : sum_of_chunk_of[k];
                    if (valid) {
                        out0_row[(first + k) * out0_stride1] = v5;
                    }
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        out1[row] = to_bfloat16(sum);
    }
}
