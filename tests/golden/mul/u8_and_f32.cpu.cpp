// x * y
//
// prelude: uint8 int64 argument

// requires: x.size(0) == y.size(0)
// requires: x.dtype == u8, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=expression, units=x.size(0), args=x, y, out
extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const uint8* __restrict x = argument<const uint8*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict out = argument<float*>(arguments[2]);            // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out[i] = float(x[i]) * y[i];
    }
}
