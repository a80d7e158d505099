// def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
//     a = 1 - t / steps
//     return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t
//
// prelude: Vec load store load_until store_until

// where: n = x.size(0)
// requires: x.size(0) == noise.size(0), not steps == 0, flip == False
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: noise.dtype == f32, noise.dim() == 1, noise.is_contiguous(), aligned(noise, 16)
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, x, noise, out1), no_overlap(out1, x, noise)
// requires: 1 <= n <= 2147418111
// launch: entry=lerp_noise, grid=ceil(n / 1024), block=256, args=x, noise, (1 - t / steps) ** 0.5,
//   (1 - (1 - t / steps)) ** 0.5, float64(1 / t), out0, out1, n
extern "C" __global__ void __launch_bounds__(256) lerp_noise(
        const float* __restrict__ x,      // contiguous
        const float* __restrict__ noise,  // contiguous
        const float s1,                   // (1 - t / steps) ** 0.5
        const float s2,                   // (1 - (1 - t / steps)) ** 0.5
        const float s3,                   // float64(1 / t)
        float* __restrict__ out0,         // contiguous
        float* __restrict__ out1,         // contiguous
        const int n) {                    // elements
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, noise4;
    if (whole) {
        x4 = load<4>(x, i);
        noise4 = load<4>(noise, i);
    } else {
        x4 = load_until<4>(x, i, n);
        noise4 = load_until<4>(noise, i, n);
    }
    Vec<float, 4> out0_4, out1_4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out0_4[k] = s1 * x4[k] + s2 * noise4[k];
        out1_4[k] = x4[k] * s3;
    }
    if (whole) {
        store(out0, i, out0_4);
        store(out1, i, out1_4);
    } else {
        store_until(out0, i, n, out0_4);
        store_until(out1, i, n, out1_4);
    }
}
