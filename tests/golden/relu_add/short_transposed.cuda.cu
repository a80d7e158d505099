// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: maximum

// where: n1 = x.size(2), n2 = x.size(1), x_stride0 = x.stride(0), x_stride1 = x.stride(2),
//   y_stride0 = x.size(1)*x.size(2), y_stride2 = x.size(2), out_stride0 = out.stride(0), out_stride1 = out.stride(2)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1), x.size(2) == y.size(2)
// requires: x.dtype == f32, x.dim() == 3, x.stride(1) == 1, aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 3, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.stride(1) == 1, aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: x_stride1 == n2, x_stride0 == y_stride0, out_stride1 == n2, out_stride0 == y_stride0,
//   1 <= x.size(0)*x.size(1)*x.size(2) <= 2147418111,
//   x.size(1) + x.size(0)*x.stride(0) + x.size(2)*x.stride(2) - x.stride(0) - x.stride(2) <= 2147483647,
//   x.size(1) + x.size(0)*out.stride(0) + x.size(2)*out.stride(2) - out.stride(0) - out.stride(2) <= 2147483647,
//   n2 % 4 == 0
// launch: entry=relu_add, grid=ceil(n2 / 128) * ceil(n1 / 4) * x.size(0), block=256, args=x, y, bias, out, n1, n2,
//   x_stride0, x_stride1, y_stride0, n1, out_stride0, out_stride1
extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // at i0 * y_stride0 + i1 + i2 * y_stride2
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n1,                 // extent of i1
        const int n2,                 // extent of i2
        const int x_stride0,
        const int x_stride1,
        const int y_stride0,
        const int y_stride2,
        const int out_stride0,
        const int out_stride1) {
    const int tiles2 = (n2 + 127) / 128;
    const int t2 = blockIdx.x % tiles2 * 128;
    const int tiles1 = (n1 + 3) / 4;
    const int t1 = blockIdx.x / tiles2 % tiles1 * 4;
    const int i0 = blockIdx.x / tiles2 / tiles1;
    const int r = threadIdx.x / 128;
    const int c = threadIdx.x % 128;
    const int r_1 = threadIdx.x / 4;
    const int c_1 = threadIdx.x % 4;
    const bool whole = t1 + 4 <= n1 && t2 + 128 <= n2;

    __shared__ float y_tile[4][129];
    float x2[2], y2[2];
    if (whole) {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int i1 = t1 + r + s * 2;
            const int i2 = t2 + c;
            x2[s] = x[i0 * x_stride0 + i1 * x_stride1 + i2];
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int i1 = t1 + c_1;
            const int i2 = t2 + r_1 + s * 64;
            y2[s] = y[i0 * y_stride0 + i1 + i2 * y_stride2];
        }
    } else {
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int i1 = min(t1 + r + s * 2, n1 - 1);
            const int i2 = min(t2 + c, n2 - 1);
            x2[s] = x[i0 * x_stride0 + i1 * x_stride1 + i2];
        }
#pragma unroll
        for (int s = 0; s < 2; ++s) {
            const int i1 = min(t1 + c_1, n1 - 1);
            const int i2 = min(t2 + r_1 + s * 64, n2 - 1);
            y2[s] = y[i0 * y_stride0 + i1 + i2 * y_stride2];
        }
    }
#pragma unroll
    for (int s = 0; s < 2; ++s) {
        y_tile[c_1][r_1 + s * 64] = y2[s];
    }
    __syncthreads();
    const int i2 = t2 + c;
#pragma unroll
    for (int s = 0; s < 2; ++s) {
        const int i1 = t1 + r + s * 2;
        const float v1 = maximum(0.0f, x2[s]) + y_tile[r + s * 2][c] + bias;
        if (i1 < n1 && i2 < n2) {
            out[i0 * out_stride0 + i1 * out_stride1 + i2] = v1;
        }
    }
}
