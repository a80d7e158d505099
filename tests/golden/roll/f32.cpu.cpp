// def moved(x):
//     return x.roll(1, -1)
//
// prelude: int64 argument smaller_of

// where: x_stride = x.size(1), out_stride = x.size(1)
// requires: x.size(1) - -1 % max(x.size(1), 1) >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(1) - -1 % max(x.size(1), 1) == 1, x.size(0)*x.size(1) - x.size(0)*(-1 % max(x.size(1), 1)) >= 1
// launch: entry=moved, units=x.size(0), args=x + (-1 % max(x.size(1), 1)), out, i64(x_stride), i64(x_stride)
extern "C" void moved(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i * x_stride
    float* __restrict out = argument<float*>(arguments[1]);            // at i * out_stride
    const int64 x_stride = argument<int64>(arguments[2]);
    const int64 out_stride = argument<int64>(arguments[3]);

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out[i * out_stride] = x[i * x_stride];
    }
}

// where: n1 = -1 % max(x.size(1), 1), x_stride0 = x.size(1), out_stride0 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(0)*(-1 % max(x.size(1), 1)) >= 1
// launch: entry=moved_1, units=x.size(0)*(-1 % max(x.size(1), 1)), args=x, out + (x.size(1) - -1 % max(x.size(1), 1)),
//   i64(n1), i64(x_stride0), i64(x_stride0)
extern "C" void moved_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1
    float* __restrict out = argument<float*>(arguments[1]);            // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[3]);
    const int64 out_stride0 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 i0 = i / n1;
        const auto x_row = x + i0 * x_stride0;
        const auto out_row = out + i0 * out_stride0;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = x_row[i1];
        }
        i += last - first;
    }
}
