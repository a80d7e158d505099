// def normalise(x, mean, std):  # images: [n, c, h, w]
//     return (x / 255 - mean[:, None, None]) / std[:, None, None]
//
// prelude: uint8 uint32 Vec load store

// where: n = x.size(0)*x.size(1)*x.size(2)*x.size(3), n1 = x.size(1), n2 = x.size(2)*x.size(3)
// requires: x.size(1) == mean.size(0), x.size(1) == std.size(0)
// requires: x.dtype == u8, x.dim() == 4, x.is_contiguous(), aligned(x, 16)
// requires: mean.dtype == f32, mean.dim() == 1, mean.is_contiguous(), aligned(mean, 16)
// requires: std.dtype == f32, std.dim() == 1, std.is_contiguous(), aligned(std, 16)
// requires: out.dtype == f32, out.dim() == 4, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.size(3) == x.size(3), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x, mean, std)
// requires: 1 <= n <= 2147418111, n2 % 16 == 0
// launch: entry=normalise, grid=ceil(n / 1024), block=256, args=x, mean, std, out, n, n1, n2
extern "C" __global__ void __launch_bounds__(256) normalise(
        const uint8* __restrict__ x,     // contiguous
        const float* __restrict__ mean,  // at i1
        const float* __restrict__ std_,  // at i1
        float* __restrict__ out,         // contiguous
        const int n,                     // elements
        const uint32 n1,                 // extent of i1
        const uint32 n2) {               // extent of i2
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i1 = i / n2 % n1;

    const auto x4 = load<4>(x, i);
    const float mean_value = mean[i1];
    const float std_value = std_[i1];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out4[k] = (float(x4[k]) * 0.003921569f - mean_value) / std_value;
    }
    store(out, i, out4);
}
