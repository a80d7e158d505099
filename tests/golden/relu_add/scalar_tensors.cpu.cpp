// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument maximum

// requires: x.dtype == f32, x.dim() == 0
// requires: y.dtype == f32, y.dim() == 0
// requires: out.dtype == f32, out.dim() == 0
// requires: no_overlap(out, x, y)
// launch: entry=relu_add, units=1, args=x, y, f32(bias), out
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // one element
    const float* __restrict y = argument<const float*>(arguments[1]);  // one element
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // one element

    const float v1 = maximum(0.0f, x[0]) + y[0] + bias;
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out[0] = v1;
    }
}
