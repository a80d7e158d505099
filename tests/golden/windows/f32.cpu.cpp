// def windows(x):
//     return x.unfold(-1, 3, 2) * 2, x.diagonal() * 2
//
// prelude: int64 argument smaller_of

// where: n1 = (x.size(1) + 1) // 2 - 1, x_stride0 = x.size(1)
// requires: x.size(1) - 3 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 3, out0.size(0) == x.size(0), out0.size(1) == (x.size(1) + 1) // 2 - 1,
//   out0.size(2) == 3, out0.is_contiguous()
// requires: no_overlap(out0, x)
// requires: x.size(0)*((x.size(1) + 1) // 2)*3 - x.size(0)*3 >= 1
// launch: entry=windows, units=x.size(0)*((x.size(1) + 1) // 2)*3 - x.size(0)*3, args=x, out0, i64(n1), i64(3),
//   i64(x_stride0), i64(2)
extern "C" void windows(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1 * x_stride1 + i2
    float* __restrict out0 = argument<float*>(arguments[1]);           // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 n2 = argument<int64>(arguments[3]);                    // extent of i2
    const int64 x_stride0 = argument<int64>(arguments[4]);
    const int64 x_stride1 = argument<int64>(arguments[5]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const int64 i0 = i / n2 / n1;
        const auto x_row = x + i0 * x_stride0 + i1 * x_stride1;
        const auto out0_row = out0 + row;
#pragma omp simd simdlen(8)
        for (int64 i2 = first; i2 < last; ++i2) {
            out0_row[i2] = x_row[i2] * 2.0f;
        }
        i += last - first;
    }
}

// where: x_stride = x.size(1) + 1
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == min(x.size(0), x.size(1)), out1.is_contiguous()
// requires: no_overlap(out1, x)
// requires: min(x.size(0), x.size(1)) >= 1
// launch: entry=windows_1, units=min(x.size(0), x.size(1)), args=x, out1, i64(x_stride)
extern "C" void windows_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i * x_stride
    float* __restrict out1 = argument<float*>(arguments[1]);           // contiguous
    const int64 x_stride = argument<int64>(arguments[2]);

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out1[i] = x[i * x_stride] * 2.0f;
    }
}
