// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 Vec load store load_until store_until maximum

// where: n = x.size(0)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: n >= 1
// launch: entry=relu_add, grid=ceil(n / 1024), block=256, args=x, y, bias, out, n
extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // contiguous
        const float bias,
        float* __restrict__ out,      // contiguous
        const int64 n) {              // elements
    const int64 i = 4 * (int64(blockIdx.x) * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, y4;
    if (whole) {
        x4 = load<4>(x, i);
        y4 = load<4>(y, i);
    } else {
        x4 = load_until<4>(x, i, n);
        y4 = load_until<4>(y, i, n);
    }
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out4[k] = maximum(0.0f, x4[k]) + y4[k] + bias;
    }
    if (whole) {
        store(out, i, out4);
    } else {
        store_until(out, i, n, out4);
    }
}
