// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 argument smaller_of bit_cast inf fused significand_of_exp decay_of maximum Sum Largest Whole Part in_pieces combine_rows

// where: n0 = x.size(0), n1 = x.size(1), x_stride1 = x.stride(1), out_stride1 = out.stride(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.stride(0) == 1
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1
// requires: no_overlap(out, x)
// requires: 256 < n1 <= 512, x.size(0)*x.size(1) >= 1
// launch: entry=softmax, units=ceil(n0 / 64), args=x, out, i64(n0), i64(n1), i64(x_stride1), i64(out_stride1)
extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at row + k + i * x_stride1
    float* __restrict out = argument<float*>(arguments[1]);            // at row + k + i * out_stride1
    const int64 n0 = argument<int64>(arguments[2]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[3]);                    // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[4]);
    const int64 out_stride1 = argument<int64>(arguments[5]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 from_row = unit * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float m_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    m_of[c][k] = -inf;
                }
            }
            for (int64 i = 0; i < n1; ++i) {
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    m_of[class_of_i][k] = maximum(x[row + k + i * x_stride1], m_of[class_of_i][k]);
                }
            }
            float m[64];
            combine_rows<Largest>(m_of, m);
            float sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
            }
            for (int64 i = 0; i < n1; ++i) {
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float e = decay_of(x[row + k + i * x_stride1] - m[k]);
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + e;
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
            for (int64 i = 0; i < n1; ++i) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float e = decay_of(x[row + k + i * x_stride1] - m[k]);
                    out[row + k + i * out_stride1] = e / sum[k];
                }
            }
        });
    }
}
