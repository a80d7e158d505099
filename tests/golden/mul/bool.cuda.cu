// x * y
//
// prelude: uint8 Vec load store load_until store_until

// where: n = x.size(0)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == bool, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == bool, y.dim() == 1, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == bool, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: 1 <= n <= 2147418111
// launch: entry=expression, grid=ceil(n / 4096), block=256, args=x, y, out, n
extern "C" __global__ void __launch_bounds__(256) expression(
        const uint8* __restrict__ x,  // bool, contiguous
        const uint8* __restrict__ y,  // bool, contiguous
        bool* __restrict__ out,       // bool, contiguous
        const int n) {                // elements
    const int i = 16 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 16 <= n;

    Vec<uint8, 16> x16, y16;
    if (whole) {
        x16 = load<16>(x, i);
        y16 = load<16>(y, i);
    } else {
        x16 = load_until<16>(x, i, n);
        y16 = load_until<16>(y, i, n);
    }
    Vec<bool, 16> out16;
#pragma unroll
    for (int k = 0; k < 16; ++k) {
        out16[k] = x16[k] != 0 && y16[k] != 0;
    }
    if (whole) {
        store(out, i, out16);
    } else {
        store_until(out, i, n, out16);
    }
}
