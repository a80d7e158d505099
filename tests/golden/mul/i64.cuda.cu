// x * y
//
// prelude: int64 Vec load store load_until store_until multiply

// where: n = x.size(0)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == i64, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == i64, y.dim() == 1, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == i64, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: 1 <= n <= 2147418111
// launch: entry=expression, grid=ceil(n / 512), block=256, args=x, y, out, n
extern "C" __global__ void __launch_bounds__(256) expression(
        const int64* __restrict__ x,  // contiguous
        const int64* __restrict__ y,  // contiguous
        int64* __restrict__ out,      // contiguous
        const int n) {                // elements
    const int i = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 2 <= n;

    Vec<int64, 2> x2, y2;
    if (whole) {
        x2 = load<2>(x, i);
        y2 = load<2>(y, i);
    } else {
        x2 = load_until<2>(x, i, n);
        y2 = load_until<2>(y, i, n);
    }
    Vec<int64, 2> out2;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        out2[k] = multiply(x2[k], y2[k]);
    }
    if (whole) {
        store(out, i, out2);
    } else {
        store_until(out, i, n, out2);
    }
}
