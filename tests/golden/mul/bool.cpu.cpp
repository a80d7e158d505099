// x * y
//
// prelude: uint8 int64 argument

// requires: x.size(0) == y.size(0)
// requires: x.dtype == bool, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == bool, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == bool, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=expression, units=x.size(0), args=x, y, out
extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const uint8* __restrict x = argument<const uint8*>(arguments[0]);  // bool, contiguous
    const uint8* __restrict y = argument<const uint8*>(arguments[1]);  // bool, contiguous
    bool* __restrict out = argument<bool*>(arguments[2]);              // bool, contiguous

#pragma omp simd simdlen(32)
    for (int64 i = begin; i < end; ++i) {
        out[i] = (x[i] != 0) & (y[i] != 0);
    }
}
