// def windows(x):
//     return x.unfold(-1, 3, 2) * 2, x.diagonal() * 2
//
// prelude: uint32 Vec

// where: n = x.size(0)*((x.size(1) + 1) // 2)*3 - x.size(0)*3, n1 = (x.size(1) + 1) // 2 - 1, x_stride0 = x.size(1)
// requires: x.size(1) - 3 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 8)
// requires: out0.dtype == f32, out0.dim() == 3, out0.size(0) == x.size(0), out0.size(1) == (x.size(1) + 1) // 2 - 1,
//   out0.size(2) == 3, out0.is_contiguous(), aligned(out0, 16)
// requires: no_overlap(out0, x)
// requires: 1 <= n <= 2147418111, (x.size(1) + 1) // 2*2 + x.size(0)*x.size(1) - x.size(1) - 1 <= 2147483647,
//   x_stride0 % 2 == 0
// launch: entry=windows, grid=ceil(n / 1024), block=256, args=x, out0, n, n1, 3, x_stride0, 2
extern "C" __global__ void __launch_bounds__(256) windows(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1 * x_stride1 + i2
        float* __restrict__ out0,     // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const uint32 n2,              // extent of i2
        const int x_stride0,
        const int x_stride1) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        const int i0 = e / n2 / n1;
        const int i1 = e / n2 % n1;
        const int i2 = e % n2;
        x4[k] = x[i0 * x_stride0 + i1 * x_stride1 + i2];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = x4[k] * 2.0f;
        const int e = i + k * 256;
        if (e < n) {
            out0[e] = v1;
        }
    }
}

// where: n = min(x.size(0), x.size(1)), x_stride = x.size(1) + 1
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == min(x.size(0), x.size(1)), out1.is_contiguous(),
//   aligned(out1, 16)
// requires: no_overlap(out1, x)
// requires: 1 <= n <= 2147418111,
//   min(x.size(0), x.size(1)) + x.size(1)*min(x.size(0), x.size(1)) - x.size(1) <= 2147483647
// launch: entry=windows_1, grid=ceil(n / 1024), block=256, args=x, out1, n, x_stride
extern "C" __global__ void __launch_bounds__(256) windows_1(
        const float* __restrict__ x,  // at i * x_stride
        float* __restrict__ out1,     // contiguous
        const int n,                  // elements
        const int x_stride) {
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
        const float v1 = x4[k] * 2.0f;
        const int e = i + k * 256;
        if (e < n) {
            out1[e] = v1;
        }
    }
}
