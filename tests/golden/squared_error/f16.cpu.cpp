// def squared_error(x, y):
//     return mean((x - y) ** 2)
//
// prelude: int64 argument bit_cast half_to_float half_from_float float16 Sum Whole Part over in_pieces combined

// where: n0 = x.size(0)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == f16, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == f16, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f16, out.dim() == 0
// requires: no_overlap(out, x, y)
// requires: 512 < n0 <= 1024, n0 >= 1
// launch: entry=squared_error, units=1, args=x, y, f32(float(x.size(0))), out, i64(n0)
extern "C" void squared_error(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict x = argument<const float16*>(arguments[0]);  // contiguous
    const float16* __restrict y = argument<const float16*>(arguments[1]);  // contiguous
    const float s1 = argument<float>(arguments[2]);                        // float(x.size(0))
    float16* __restrict out = argument<float16*>(arguments[3]);            // one element
    const int64 n0 = argument<int64>(arguments[4]);                        // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_pieces<64>(0, n0, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float16 x_k = valid ? x[first + k] : float16();
                const float16 y_k = valid ? y[first + k] : float16();
                const float v1 = float(x_k) - float(y_k);
                sum_of[k] = valid ? sum_of[k] + v1 * v1 : sum_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        out[0] = float16(sum / s1);
    }
}
