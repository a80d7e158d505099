// def softmax(x):
//     return x.softmax(-1)
//
// prelude: int64 argument smaller_of bit_cast inf fused significand_of_exp decay_of maximum Sum Largest Whole Part over will_write in_pieces combined combined_choice

// where: n1 = x.size(1)
// requires: x.size(0) == grad.size(0), x.size(1) == grad.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x, grad)
// requires: 2048 < n1 <= 4096, x.size(0)*x.size(1) >= 1
// launch: entry=softmax_backward, units=x.size(0), args=x, grad, out, i64(n1)
extern "C" void softmax_backward(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);     // contiguous
    const float* __restrict grad = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict out = argument<float*>(arguments[2]);               // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                       // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float largest_of[64];
        for (int c = 0; c < 64; ++c) {
            largest_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float x_k = valid ? x_row[first + k] : 0.0f;
                largest_of[k] = valid ? maximum(x_k, largest_of[k]) : largest_of[k];
            });
        });
        const float largest = combined_choice<Largest>(largest_of);
        float value_of[4096];
        const auto out_row = out + row * n1;
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
                will_write(out_row + first, count);
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float v1 = decay_of((valid ? x_row[first + k] : 0.0f) - largest);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v1 : sum_of_chunk_of[k];
                    value_of[first + k] = v1;
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const auto grad_row = grad + row * n1;
        float sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0.0f;
        }
        for (int64 chunk_1 = 0; chunk_1 < (n1 + 1023) / 1024; ++chunk_1) {
            const int64 from_1 = chunk_1 * 1024;
            const int64 to_1 = smaller_of(from_1 + 1024, n1);
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from_1, to_1, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float v2 = -(valid ? grad_row[first + k] : 0.0f);
                    const float v3 = v2 * (value_of[first + k] / sum / sum);
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + v3 : sum_1_of_chunk_of[k];
                });
            });
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            sum_1_of[chunk_1 % 64] = sum_1_of[chunk_1 % 64] + sum_1_of_chunk;
        }
        const float sum_1 = combined<Sum>(sum_1_of);
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float v4 = (valid ? grad_row[first + k] : 0.0f) / sum + sum_1;
                const float v5 = v4 * value_of[first + k];
                if (valid) {
                    out_row[first + k] = v5;
                }
            });
        });
    }
}
