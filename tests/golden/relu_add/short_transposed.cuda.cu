// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: uint32 Vec maximum

// where: n = x.size(0)*x.size(1)*x.size(2), n1 = x.size(2), n2 = x.size(1), y_stride0 = x.size(1)*x.size(2),
//   y_stride2 = x.size(2)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1), x.size(2) == y.size(2)
// requires: x.dtype == f32, x.dim() == 3, x.stride(1) == 1, aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 3, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.stride(1) == 1, aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: x.stride(2) == n2, x.stride(0) == y_stride0, out.stride(2) == n2, out.stride(0) == y_stride0,
//   1 <= n <= 2147418111,
//   x.size(1) + x.size(0)*x.stride(0) + x.size(2)*x.stride(2) - x.stride(0) - x.stride(2) <= 2147483647,
//   x.size(1) + x.size(0)*out.stride(0) + x.size(2)*out.stride(2) - out.stride(0) - out.stride(2) <= 2147483647,
//   n2 % 4 == 0
// launch: entry=relu_add, grid=ceil(n / 1024), block=256, args=x, y, bias, out, n, n1, n2, y_stride0, n1
extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // at i0 * y_stride0 + i1 + i2 * y_stride2
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const uint32 n2,              // extent of i2
        const int y_stride0,
        const int y_stride2) {
    const int i = blockIdx.x * 1024 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> x4, y4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int e = min(i + k * 256, n - 1);
        x4[k] = x[e];
        const int i0 = e / n2 / n1;
        const int i1 = e / n2 % n1;
        const int i2 = e % n2;
        y4[k] = y[i0 * y_stride0 + i1 + i2 * y_stride2];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = maximum(0.0f, x4[k]) + y4[k] + bias;
        const int e = i + k * 256;
        if (e < n) {
            out[e] = v1;
        }
    }
}
