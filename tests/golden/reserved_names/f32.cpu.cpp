// def threadIdx(float4, i, n, NULL, half: float):
//     """A text that ends a comment */, a line \ .
//     and a trigraph ? ?/
//     """
//     k = float4 * half
//     λ = k + i
//     return λ / (n + abs(k)) + NULL
//
// prelude: fabsf int64 argument

// requires: float4.size(0) == i.size(0), float4.size(0) == NULL.size(0), n.size(0) == float4.size(0)
// requires: float4.dtype == f32, float4.dim() == 1, float4.is_contiguous()
// requires: i.dtype == f32, i.dim() == 1, i.is_contiguous()
// requires: n.dtype == f32, n.dim() == 1, n.is_contiguous()
// requires: NULL.dtype == f32, NULL.dim() == 1, NULL.is_contiguous()
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == float4.size(0), out.is_contiguous()
// requires: no_overlap(out, float4, i, n, NULL)
// requires: float4.size(0) >= 1
// launch: entry=threadIdx_, units=float4.size(0), args=float4, i, n, NULL, f32(half), out
extern "C" void threadIdx_(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict float4_ = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict i = argument<const float*>(arguments[1]);        // contiguous
    const float* __restrict n = argument<const float*>(arguments[2]);        // contiguous
    const float* __restrict NULL_ = argument<const float*>(arguments[3]);    // contiguous
    const float half = argument<float>(arguments[4]);
    float* __restrict out = argument<float*>(arguments[5]);                  // contiguous

#pragma omp simd simdlen(8)
    for (int64 i_1 = begin; i_1 < end; ++i_1) {
        const float k = float4_[i_1] * half;
        const float lambda = k + i[i_1];
        out[i_1] = lambda / (n[i_1] + fabsf(k)) + NULL_[i_1];
    }
}
