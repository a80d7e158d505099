// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 argument bit_cast upper_half bfloat16 to_bfloat16 inf fused significand_of_exp decay_of maximum Sum Largest Whole Part over will_write in_pieces combined combined_choice

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 16 < n1 <= 32, x.size(0)*x.size(1) >= 1, n1 % 32 == 0
// launch: entry=softmax, units=x.size(0), args=x, out, i64(n1)
extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    bfloat16* __restrict out = argument<bfloat16*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                          // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float m_of[32];
        for (int c = 0; c < 32; ++c) {
            m_of[c] = -inf;
        }
        in_pieces<32>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 x_k = valid ? x_row[first + k] : bfloat16();
                m_of[k] = valid ? maximum(float(x_k), m_of[k]) : m_of[k];
            });
        });
        const float m = combined_choice<Largest>(m_of);
        float e_of[32];
        const auto out_row = out + row * n1;
        float sum_of[32];
        for (int c = 0; c < 32; ++c) {
            sum_of[c] = 0.0f;
        }
        in_pieces<32>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            will_write(out_row + first, count);
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 x_k_1 = valid ? x_row[first + k] : bfloat16();
                const float e = decay_of(float(x_k_1) - m);
                sum_of[k] = valid ? sum_of[k] + e : sum_of[k];
                e_of[first + k] = e;
            });
        });
        const float sum = combined<Sum>(sum_of);
        in_pieces<32>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 v1 = to_bfloat16(e_of[first + k] / sum);
                if (valid) {
                    out_row[first + k] = v1;
                }
            });
        });
    }
}
