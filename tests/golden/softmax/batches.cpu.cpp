// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 argument smaller_of bit_cast inf fused significand_of_exp decay_of maximum Sum Largest Whole Part in_pieces Word transpose_8 transpose combine_rows

// where: n0 = x.size(0), n1 = x.size(1), x_stride0 = x.size(1), out_stride0 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 64 < n1 <= 128, x.size(0)*x.size(1) >= 1
// launch: entry=softmax, units=ceil(n0 / 64), args=x, out, i64(n0), i64(n1), i64(n1), i64(n1)
extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n0 = argument<int64>(arguments[2]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[3]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[4]);
    const int64 out_stride0 = argument<int64>(arguments[5]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 from_row = unit * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float x_rows[8192];
            transpose(x + row * x_stride0, x_stride0, x_rows, 64, n1, rows);
            float m_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    m_of[c][k] = -inf;
                }
                for (int64 i = c; i < n1; i += 64) {
#pragma omp simd
                    for (int64 k = 0; k < rows; ++k) {
                        m_of[c][k] = maximum(x_rows[i * 64 + k], m_of[c][k]);
                    }
                }
            }
            float m[64];
            combine_rows<Largest>(m_of, m);
            float e_of[128][64], sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
                for (int64 i = c; i < n1; i += 64) {
#pragma omp simd
                    for (int64 k = 0; k < rows; ++k) {
                        const float e = decay_of(x_rows[i * 64 + k] - m[k]);
                        sum_of[c][k] = sum_of[c][k] + e;
                        e_of[i][k] = e;
                    }
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
            float out_rows[8192];
            for (int64 i = 0; i < n1; ++i) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    out_rows[i * 64 + k] = e_of[i][k] / sum[k];
                }
            }
            transpose(out_rows, 64, out + row * out_stride0, out_stride0, rows, n1);
        });
    }
}
