// def quantise(x, scale, zero):
//     q = clamp(round(x / scale) + zero, 0, 255).to(torch.uint8)
//     return q, (q.float() - zero) * scale
//
// prelude: nearbyintf uint8 int64 unknown_zero to_int64 argument maximum minimum

// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous()
// requires: scale.dtype == f32, scale.dim() == 1, scale.size(0) == 1, scale.is_contiguous()
// requires: out0.dtype == u8, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous()
// requires: no_overlap(out0, x, scale, out1), no_overlap(out1, x, scale)
// requires: x.size(0) >= 1
// launch: entry=quantise, units=x.size(0), args=x, scale, f32(zero), out0, out1
extern "C" void quantise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict scale = argument<const float*>(arguments[1]);  // one element
    const float zero = argument<float>(arguments[2]);
    uint8* __restrict q = argument<uint8*>(arguments[3]);                  // contiguous
    float* __restrict out1 = argument<float*>(arguments[4]);               // contiguous

    const float scale_value = scale[0];
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float v1 = maximum(0.0f, nearbyintf(x[i] / scale_value) + zero);
        const uint8 q_1 = uint8(to_int64(minimum(255.0f, v1)));
        q[i] = q_1;
        out1[i] = (float(q_1) - zero) * scale_value;
    }
}
