// def shifted(x):
//     return x[:, 1:] - x[:, :-1], x.flip(-1)
//
// prelude: uint32 Vec

// where: n = x.size(0)*x.size(1) - x.size(0), n1 = x.size(1) - 1, x_stride0 = x.size(1)
// requires: x.size(1) > 16
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1) - 1,
//   out0.is_contiguous(), aligned(out0, 16)
// requires: no_overlap(out0, x)
// requires: 1 <= n <= 2147418111, x.size(0)*x.size(1) - 1 <= 2147483647, x_stride0 % 4 == 0
// launch: entry=shifted, grid=ceil(n / 1024), block=256, args=x + 1, x, out0, n, n1, x_stride0
extern "C" __global__ void __launch_bounds__(256) shifted(
        const float* __restrict__ x_1,  // at i0 * x_stride0 + i1
        const float* __restrict__ x_0,  // at i0 * x_stride0 + i1
        float* __restrict__ out0,       // contiguous
        const int n,                    // elements
        const uint32 n1,                // extent of i1
        const int x_stride0) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x_1_4, x_0_4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        const int i0 = e / n1;
        const int i1 = e % n1;
        x_1_4[k] = x_1[i0 * x_stride0 + i1];
        x_0_4[k] = x_0[i0 * x_stride0 + i1];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = x_1_4[k] - x_0_4[k];
        const int e = i + k * 256;
        if (e < n) {
            out0[e] = v1;
        }
    }
}

// where: n = x.size(0)*x.size(1), n1 = x.size(1), x_stride0 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 2, out1.size(0) == x.size(0), out1.size(1) == x.size(1),
//   out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out1, x)
// requires: 1 <= n <= 2147418111, x.size(0)*x.size(1) + 1 - x.size(1) <= 2147483647, x.size(1) - 1 <= 2147483647,
//   n1 % 8 == 0
// launch: entry=shifted_1, grid=ceil(n / 1024), block=256, args=x + (x.size(1) - 1), out1, n, n1, n1, -1
extern "C" __global__ void __launch_bounds__(256) shifted_1(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1 * x_stride1
        float* __restrict__ out1,     // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const int x_stride0,
        const int x_stride1) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        const int i0 = e / n1;
        const int i1 = e % n1;
        x4[k] = x[i0 * x_stride0 + i1 * x_stride1];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = i + k * 256;
        if (e < n) {
            out1[e] = x4[k];
        }
    }
}
