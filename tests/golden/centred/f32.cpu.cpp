// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)
//
// prelude: int64 argument smaller_of Sum Whole Part over in_pieces combined combine_rows

// where: n1 = x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1), x.size(1) > 16
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1),
//   out0.is_contiguous()
// requires: no_overlap(out0, x, y)
// requires: 256 < n1 <= 512, x.size(0)*x.size(1) >= 1
// scratch: workspace0 = empty(f32, x.size(0))
// launch: entry=centred, units=x.size(0), args=x, y, out0, workspace0, i64(n1)
extern "C" void centred(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict h = argument<float*>(arguments[2]);              // contiguous
    float* __restrict workspace = argument<float*>(arguments[3]);      // at row
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        const auto y_row = y + row * n1;
        const auto h_row = h + row * n1;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float x_k = valid ? x_row[first + k] : 0.0f;
                const float h_1 = x_k + (valid ? y_row[first + k] : 0.0f);
                sum_of[k] = valid ? sum_of[k] + h_1 : sum_of[k];
                if (valid) {
                    h_row[first + k] = h_1;
                }
            });
        });
        const float sum = combined<Sum>(sum_of);
        workspace[row] = sum;
    }
}

// where: n0 = x.size(1), n1 = x.size(0), x_stride1 = x.size(1), y_stride1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(1), out1.is_contiguous()
// requires: no_overlap(out1, x, y)
// requires: 512 < n1 <= 1024, x.size(0)*x.size(1) >= 1
// launch: entry=centred_1, units=ceil(n0 / 64), args=x, workspace0, y, f32(float(x.size(1))), out1, i64(n0), i64(n1),
//   i64(n0), i64(n0)
extern "C" void centred_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);          // at row + k + i * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);  // at i
    const float* __restrict y = argument<const float*>(arguments[2]);          // at row + k + i * y_stride1
    const float s1 = argument<float>(arguments[3]);                            // float(x.size(1))
    float* __restrict out1 = argument<float*>(arguments[4]);                   // at row + k
    const int64 n0 = argument<int64>(arguments[5]);                            // extent of i0
    const int64 n1 = argument<int64>(arguments[6]);                            // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[7]);
    const int64 y_stride1 = argument<int64>(arguments[8]);

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
            for (int64 i = 0; i < n1; ++i) {
                const float v1 = workspace[i] / s1;
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float h = x[row + k + i * x_stride1] + y[row + k + i * y_stride1];
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + (h - v1);
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                out1[row + k] = sum[k];
            }
        });
    }
}
