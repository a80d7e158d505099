// def column_sum(x, y):
//     return (x * y).sum(0)
//
// prelude: int64 argument smaller_of Sum Whole Part in_pieces combine_rows

// where: n0 = x.size(1), n1 = x.size(0), x_stride1 = x.size(1), y_stride1 = x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous()
// requires: 8192 < n1 <= 16384, x.size(0)*x.size(1) >= 1
// scratch: found = empty(f32, n0 * ceil(n1 / 1024))
// launch: entry=column_sum, units=ceil(n0 / 64) * ceil(n1 / 1024), args=x, y, found, i64(n0), i64(n1), i64(n0), i64(n0)
extern "C" void column_sum(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at row + k + i * x_stride1
    const float* __restrict y = argument<const float*>(arguments[1]);  // at row + k + i * y_stride1
    float* found = argument<float*>(arguments[2]);                     // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[5]);
    const int64 y_stride1 = argument<int64>(arguments[6]);

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
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            for (int64 i = from; i < to; ++i) {
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float v1 = x[row + k + i * x_stride1] * y[row + k + i * y_stride1];
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + v1;
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                found[chunk * n0 + (row + k)] = sum[k];
            }
        });
    }
}

// where: n0 = x.size(1), n1 = x.size(0)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(1), out.is_contiguous()
// launch: entry=column_sum_rest, units=ceil(n0 / 64), args=out, found, i64(n0), i64(n1)
extern "C" void column_sum_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // at row + k
    float* found = argument<float*>(arguments[1]);           // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);          // extent of i0
    const int64 n1 = argument<int64>(arguments[3]);          // extent of i1

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
            for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    sum_of[chunk % 64][k] = sum_of[chunk % 64][k] + found[chunk * n0 + (row + k)];
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                out[row + k] = sum[k];
            }
        });
    }
}
