// x * y
//
// prelude: int64 argument multiply

// requires: x.size(0) == y.size(0)
// requires: x.dtype == i64, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == i64, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == i64, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=expression, units=x.size(0), args=x, y, out
extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const int64* __restrict x = argument<const int64*>(arguments[0]);  // contiguous
    const int64* __restrict y = argument<const int64*>(arguments[1]);  // contiguous
    int64* __restrict out = argument<int64*>(arguments[2]);            // contiguous

#pragma omp simd simdlen(4)
    for (int64 i = begin; i < end; ++i) {
        out[i] = multiply(x[i], y[i]);
    }
}
