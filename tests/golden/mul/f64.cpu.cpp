// x * y
//
// prelude: int64 argument

// requires: x.size(0) == y.size(0)
// requires: x.dtype == f64, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == f64, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f64, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=expression, units=x.size(0), args=x, y, out
extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const double* __restrict x = argument<const double*>(arguments[0]);  // contiguous
    const double* __restrict y = argument<const double*>(arguments[1]);  // contiguous
    double* __restrict out = argument<double*>(arguments[2]);            // contiguous

#pragma omp simd simdlen(4)
    for (int64 i = begin; i < end; ++i) {
        out[i] = x[i] * y[i];
    }
}
