// def moved(x):
//     return x.roll(1, -1)
//
// prelude: uint32 Vec

// where: n = x.size(0)*x.size(1) - x.size(0)*(-1 % max(x.size(1), 1)), x_stride = x.size(1), out_stride = x.size(1)
// requires: x.size(1) - -1 % max(x.size(1), 1) >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(1) - -1 % max(x.size(1), 1) == 1, 1 <= n <= 2147418111,
//   x.size(0)*x.size(1) + 1 - x.size(1) <= 2147483647
// launch: entry=moved, grid=ceil(x.size(0) / 1024), block=256, args=x + (-1 % max(x.size(1), 1)), out, n, x_stride,
//   x_stride
extern "C" __global__ void __launch_bounds__(256) moved(
        const float* __restrict__ x,  // at i * x_stride
        float* __restrict__ out,      // at i * out_stride
        const int n,                  // elements
        const int x_stride,
        const int out_stride) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        x4[k] = x[e * x_stride];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = i + k * 256;
        if (e < n) {
            out[e * out_stride] = x4[k];
        }
    }
}

// where: n = x.size(0)*(-1 % max(x.size(1), 1)), n1 = -1 % max(x.size(1), 1), x_stride0 = x.size(1),
//   out_stride0 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 1 <= n <= 2147418111, -1 % max(x.size(1), 1) + x.size(0)*x.size(1) - x.size(1) <= 2147483647,
//   x_stride0 % 4 == 0
// launch: entry=moved_1, grid=ceil(n / 1024), block=256, args=x, out + (x.size(1) - -1 % max(x.size(1), 1)), n, n1,
//   x_stride0, x_stride0
extern "C" __global__ void __launch_bounds__(256) moved_1(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1
        float* __restrict__ out,      // at i0 * out_stride0 + i1
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const int x_stride0,
        const int out_stride0) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        const int i0 = e / n1;
        const int i1 = e % n1;
        x4[k] = x[i0 * x_stride0 + i1];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = i + k * 256;
        const int i0 = e / n1;
        const int i1 = e % n1;
        if (e < n) {
            out[i0 * out_stride0 + i1] = x4[k];
        }
    }
}
