// def normalizer(x):
//     return x.logsumexp(-1)
//
// prelude: fabsf int64 argument smaller_of bit_cast upper_half bfloat16 to_bfloat16 inf fused significand_of_exp exp_of log_of negative maximum Sum Largest Whole Part over in_pieces combined combined_choice

// where: n1 = x.size(1)
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == bf16, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 32768 < n1 <= 65536, x.size(0)*x.size(1) >= 1
// launch: entry=normalizer, units=x.size(0), args=x, out, i64(n1)
extern "C" void normalizer(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    bfloat16* __restrict out = argument<bfloat16*>(arguments[1]);            // at row
    const int64 n1 = argument<int64>(arguments[2]);                          // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float largest_of[64];
        for (int c = 0; c < 64; ++c) {
            largest_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 x_k = valid ? x_row[first + k] : bfloat16();
                largest_of[k] = valid ? maximum(float(x_k), largest_of[k]) : largest_of[k];
            });
        });
        const float largest = combined_choice<Largest>(largest_of);
        const float v1 = fabsf(largest) == inf ? 3.3895314e+38f : largest;
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
                    const bfloat16 x_k_1 = valid ? x_row[first + k] : bfloat16();
                    const float v2 = exp_of(float(x_k_1) - v1);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v2 : sum_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        out[row] = to_bfloat16(log_of(sum) + v1);
    }
}
