// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument smaller_of maximum Word transpose_8 transpose

// where: n0 = x.size(1), n1 = x.size(0), y_stride1 = x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.stride(0) == 1
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1
// requires: no_overlap(out, x, y)
// requires: x.stride(1) == n1, out.stride(1) == n1, x.size(0)*x.size(1) >= 1
// launch: entry=relu_add, units=ceil(n1 / 64) * ceil(n0 / 64), args=x, y, f32(bias), out, i64(n0), i64(n1), i64(n0)
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i0 + i1 * y_stride1
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n0 = argument<int64>(arguments[4]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[5]);                    // extent of i1
    const int64 y_stride1 = argument<int64>(arguments[6]);

    const int64 tiles1 = (n1 + 63) / 64;
    for (int64 t = begin; t < end; ++t) {
        const int64 first1 = t % tiles1 * 64;
        const int64 last1 = smaller_of(first1 + 64, n1);
        const int64 first0 = t / tiles1 * 64;
        const int64 last0 = smaller_of(first0 + 64, n0);
        float y_tile[4096];
        transpose(y + first0 + first1 * y_stride1, y_stride1, y_tile, 64, last0 - first0, last1 - first1);
        for (int64 i0 = first0; i0 < last0; ++i0) {
            const int64 row = i0 * n1;
            const auto y_row = y_tile + (i0 - first0) * 64;
            const auto x_row = x + row;
            const auto out_row = out + row;
#pragma omp simd simdlen(8)
            for (int64 i1 = first1; i1 < last1; ++i1) {
                out_row[i1] = maximum(0.0f, x_row[i1]) + y_row[i1 - first1] + bias;
            }
        }
    }
}
