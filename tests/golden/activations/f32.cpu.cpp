// gelu(x + y) * sigmoid(y) + x
//
// prelude: INGOT_VECTOR erff expf int64 argument

// requires: x.size(0) == y.size(0)
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0) >= 1
// launch: entry=expression, units=x.size(0), args=x, y, out
extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict out = argument<float*>(arguments[2]);            // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float x_i = x[i];
        const float y_i = y[i];
        const float v1 = x_i + y_i;
        const float v2 = v1 * 0.5f * (1.0f + erff(v1 * 0.70710677f));
        out[i] = v2 * (1.0f / (1.0f + expf(-y_i))) + x_i;
    }
}
