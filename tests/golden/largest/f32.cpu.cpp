// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index
//
// prelude: int64 argument inf take_larger FirstLargest Found Whole Part over in_pieces combined_found

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous()
// requires: out1.dtype == i64, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous()
// requires: no_overlap(out0, x, out1), no_overlap(out1, x)
// requires: 512 < n1 <= 1024, x.size(0)*x.size(1) >= 1
// launch: entry=largest, units=x.size(0), args=x, out0, out1, i64(n1)
extern "C" void largest(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out0 = argument<float*>(arguments[1]);           // at row
    int64* __restrict index = argument<int64*>(arguments[2]);          // at row
    const int64 n1 = argument<int64>(arguments[3]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float value_of[64];
        int64 index_1_of[64];
        for (int c = 0; c < 64; ++c) {
            value_of[c] = -inf;
            index_1_of[c] = 0LL;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float x_k = valid ? x_row[first + k] : 0.0f;
                if (valid) {
                    take_larger(value_of[k], index_1_of[k], x_k, first + k);
                }
            });
        });
        const auto [value, index_1] = combined_found<FirstLargest>(value_of, index_1_of);
        out0[row] = value * 2.0f;
        index[row] = index_1;
    }
}
