// def padded(x):
//     return F.pad(x, (1, 2), value=0.5)
//
// prelude: int64 argument smaller_of

// where: out_stride = x.size(1) + 3
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1) + 3,
//   out.is_contiguous()
// requires: x.size(0) >= 1
// launch: entry=padded, units=x.size(0), args=out, i64(out_stride)
extern "C" void padded(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // at i * out_stride
    const int64 out_stride = argument<int64>(arguments[1]);

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out[i * out_stride] = 0.5f;
    }
}

// where: n1 = x.size(1), out_stride0 = x.size(1) + 3
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1) + 3,
//   out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=padded_1, units=x.size(0)*x.size(1), args=x, out + 1, i64(n1), i64(out_stride0)
extern "C" void padded_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 out_stride0 = argument<int64>(arguments[3]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + row;
        const auto out_row = out + i0 * out_stride0;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = x_row[i1];
        }
        i += last - first;
    }
}

// where: out_stride0 = x.size(1) + 3
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1) + 3,
//   out.is_contiguous()
// requires: x.size(0)*2 >= 1
// launch: entry=padded_2, units=x.size(0)*2, args=out + (x.size(1) + 1), i64(2), i64(out_stride0)
extern "C" void padded_2(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);   // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[1]);           // extent of i1
    const int64 out_stride0 = argument<int64>(arguments[2]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 i0 = i / n1;
        const auto out_row = out + i0 * out_stride0;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = 0.5f;
        }
        i += last - first;
    }
}
