// def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
//     a = 1 - t / steps
//     return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t
//
// prelude: int64 argument

// requires: x.size(0) == noise.size(0), not steps == 0, flip == False
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous()
// requires: noise.dtype == f32, noise.dim() == 1, noise.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous()
// requires: no_overlap(out0, x, noise, out1), no_overlap(out1, x, noise)
// requires: x.size(0) >= 1
// launch: entry=lerp_noise, units=x.size(0), args=x, noise, f32((1 - t / steps) ** 0.5),
//   f32((1 - (1 - t / steps)) ** 0.5), f32(t), out0, out1
extern "C" void lerp_noise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict noise = argument<const float*>(arguments[1]);  // contiguous
    const float s1 = argument<float>(arguments[2]);                        // (1 - t / steps) ** 0.5
    const float s2 = argument<float>(arguments[3]);                        // (1 - (1 - t / steps)) ** 0.5
    const float t = argument<float>(arguments[4]);
    float* __restrict out0 = argument<float*>(arguments[5]);               // contiguous
    float* __restrict out1 = argument<float*>(arguments[6]);               // contiguous

#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        const float x_i = x[i];
        out0[i] = s1 * x_i + s2 * noise[i];
        out1[i] = x_i / t;
    }
}
