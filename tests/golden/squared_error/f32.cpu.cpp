// def squared_error(x, y):
//     return mean((x - y) ** 2)
//
// prelude: int64 argument smaller_of Sum Whole Part over in_pieces combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous()
// requires: 524288 < n0 <= 1048576, n0 >= 1
// scratch: found = empty(f32, ceil(n0 / 1024))
// launch: entry=squared_error, units=ceil(n0 / 1024), args=x, y, found, i64(n0)
extern "C" void squared_error(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* found = argument<float*>(arguments[2]);                     // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                    // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float v1 = (valid ? x[first + k] : 0.0f) - (valid ? y[first + k] : 0.0f);
                sum_of[k] = valid ? sum_of[k] + v1 * v1 : sum_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

// where: n0 = x.size(0)*x.size(1)
// requires: out.dtype == f32, out.dim() == 0
// launch: entry=squared_error_rest, units=1, args=f32(float(x.size(0)*x.size(1))), out, found, i64(n0)
extern "C" void squared_error_rest(const void* const* arguments, int64 begin, int64 end) {
    const float s1 = argument<float>(arguments[0]);          // float(x.size(0)*x.size(1))
    float* __restrict out = argument<float*>(arguments[1]);  // one element
    float* found = argument<float*>(arguments[2]);           // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);          // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
        }
        const float sum = combined<Sum>(sum_of);
        out[0] = sum / s1;
    }
}
