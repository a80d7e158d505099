// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument maximum

// requires: x.size(0) == y.size(0)
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=relu_add, units=x.size(0), args=x, y, f32(bias), out
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous

#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        out[i] = maximum(0.0f, x[i]) + y[i] + bias;
    }
}
