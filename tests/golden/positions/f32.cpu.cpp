// def shifted(x):
//     return x[:, 1:] - x[:, :-1], x.flip(-1)
//
// prelude: int64 argument smaller_of

// where: n1 = x.size(1) - 1, x_stride0 = x.size(1)
// requires: x.size(1) > 16
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1) - 1,
//   out0.is_contiguous()
// requires: no_overlap(out0, x)
// requires: x.size(0)*x.size(1) - x.size(0) >= 1
// launch: entry=shifted, units=x.size(0)*x.size(1) - x.size(0), args=x + 1, x, out0, i64(n1), i64(x_stride0)
extern "C" void shifted(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x_1 = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1
    const float* __restrict x_0 = argument<const float*>(arguments[1]);  // at i0 * x_stride0 + i1
    float* __restrict out0 = argument<float*>(arguments[2]);             // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                      // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_1_row = x_1 + i0 * x_stride0;
        const auto x_0_row = x_0 + i0 * x_stride0;
        const auto out0_row = out0 + row;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out0_row[i1] = x_1_row[i1] - x_0_row[i1];
        }
        i += last - first;
    }
}

// where: n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 2, out1.size(0) == x.size(0), out1.size(1) == x.size(1),
//   out1.is_contiguous()
// requires: no_overlap(out1, x)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=shifted_1, units=x.size(0)*x.size(1), args=x + (x.size(1) - 1), out1, i64(n1), i64(n1), i64(-1)
extern "C" void shifted_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1 * x_stride1
    float* __restrict out1 = argument<float*>(arguments[1]);           // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[3]);
    const int64 x_stride1 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + i0 * x_stride0;
        const auto out1_row = out1 + row;
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            out1_row[i1] = x_row[i1 * x_stride1];
        }
        i += last - first;
    }
}
