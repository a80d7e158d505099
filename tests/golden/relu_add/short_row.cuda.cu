// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: uint32 Vec load store load_until store_until maximum

// where: n = x.size(0)*x.size(1), n1 = x.size(1)
// requires: x.size(1) == y.size(0)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: 1 <= n <= 2147418111
// launch: entry=relu_add, grid=ceil(n / 1024), block=256, args=x, y, bias, out, n, n1
extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // at i1
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n,                  // elements
        const uint32 n1) {            // extent of i1
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;
    int i1 = i % n1;

    Vec<float, 4> x4;
    if (whole) {
        x4 = load<4>(x, i);
    } else {
        x4 = load_until<4>(x, i, n);
    }
    Vec<float, 4> y4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        y4[k] = y[i1];
        ++i1;
        if (i1 == n1) {
            i1 = 0;
        }
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
