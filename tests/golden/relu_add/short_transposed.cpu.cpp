// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument smaller_of maximum

// where: n1 = x.size(2), n2 = x.size(1), y_stride0 = x.size(1)*x.size(2)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1), x.size(2) == y.size(2)
// requires: x.dtype == f32, x.dim() == 3, x.stride(1) == 1
// requires: y.dtype == f32, y.dim() == 3, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.stride(1) == 1
// requires: no_overlap(out, x, y)
// requires: x.stride(2) == n2, x.stride(0) == y_stride0, n1 == 3, out.stride(2) == n2, out.stride(0) == y_stride0,
//   x.size(0)*x.size(1)*x.size(2) >= 1
// launch: entry=relu_add, units=x.size(0)*x.size(1)*x.size(2), args=x, y, f32(bias), out, i64(n1), i64(n2),
//   i64(y_stride0)
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i0 * y_stride0 + i1 + i2 * 3
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1
    const int64 n2 = argument<int64>(arguments[5]);                    // extent of i2
    const int64 y_stride0 = argument<int64>(arguments[6]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const int64 i0 = i / n2 / n1;
        const auto x_row = x + row;
        const auto y_row = y + i0 * y_stride0 + i1;
        const auto out_row = out + row;
#pragma omp simd simdlen(8)
        for (int64 i2 = first; i2 < last; ++i2) {
            out_row[i2] = maximum(0.0f, x_row[i2]) + y_row[i2 * 3] + bias;
        }
        i += last - first;
    }
}
