// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 argument smaller_of bit_cast inf fused significand_of_exp decay_of maximum Sum Largest Whole Part over will_write in_pieces combined combined_choice

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 32768 < n1 <= 65536, x.size(0)*x.size(1) >= 1
// launch: entry=softmax, units=x.size(0), args=x, out, i64(n1)
extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float m_of[64];
        for (int c = 0; c < 64; ++c) {
            m_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                m_of[k] = valid ? maximum(valid ? x_row[first + k] : 0.0f, m_of[k]) : m_of[k];
            });
        });
        const float m = combined_choice<Largest>(m_of);
        float e_of[65536];
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
                    const float e = decay_of((valid ? x_row[first + k] : 0.0f) - m);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + e : sum_of_chunk_of[k];
                    e_of[first + k] = e;
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float v1 = e_of[first + k] / sum;
                if (valid) {
                    out_row[first + k] = v1;
                }
            });
        });
    }
}
