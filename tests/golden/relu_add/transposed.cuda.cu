// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: Vec load store maximum

// where: n0 = x.size(1), n1 = x.size(0), x_stride0 = x.stride(1), y_stride1 = x.size(1), out_stride0 = out.stride(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.stride(0) == 1, aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1,
//   aligned(out, 16)
// requires: no_overlap(out, x, y)
// requires: x_stride0 == n1, out_stride0 == n1, 1 <= x.size(0)*x.size(1) <= 2147418111,
//   x.size(0) + x.size(1)*x.stride(1) - x.stride(1) <= 2147483647,
//   x.size(0) + x.size(1)*out.stride(1) - out.stride(1) <= 2147483647, n1 % 8 == 0, n0 % 4 == 0
// launch: entry=relu_add, grid=ceil(n1 / 64) * ceil(n0 / 64), block=256, args=x, y, bias, out, n0, n1, x_stride0, n0,
//   out_stride0
extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // at i0 + i1 * y_stride1
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n0,                 // extent of i0
        const int n1,                 // extent of i1
        const int x_stride0,
        const int y_stride1,
        const int out_stride0) {
    const int tiles1 = (n1 + 63) / 64;
    const int t1 = blockIdx.x % tiles1 * 64;
    const int t0 = blockIdx.x / tiles1 * 64;
    const int r = threadIdx.x / 16;
    const int c = threadIdx.x % 16 * 4;
    const bool whole = t0 + 64 <= n0 && t1 + 64 <= n1;

    __shared__ float y_tile[64][65];
    Vec<float, 4> x4[4], y4[4];
    if (whole) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i0 = t0 + r + s * 16;
            x4[s] = load<4>(x, i0 * x_stride0 + (t1 + c));
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = t1 + r + s * 16;
            y4[s] = load<4>(y, t0 + c + i1 * y_stride1);
        }
    } else {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i0 = min(t0 + r + s * 16, n0 - 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i1 = min(t1 + c + k, n1 - 1);
                x4[s][k] = x[i0 * x_stride0 + i1];
            }
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = min(t1 + r + s * 16, n1 - 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i0 = min(t0 + c + k, n0 - 1);
                y4[s][k] = y[i0 + i1 * y_stride1];
            }
        }
    }
#pragma unroll
    for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            y_tile[c + k][r + s * 16] = y4[s][k];
        }
    }
    __syncthreads();
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        Vec<float, 4> out4;
        const int i0 = t0 + r + s * 16;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out4[k] = maximum(0.0f, x4[s][k]) + y_tile[r + s * 16][c + k] + bias;
        }
        if (whole) {
            store(out, i0 * out_stride0 + (t1 + c), out4);
        } else {
            const int i0 = t0 + r + s * 16;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i1 = t1 + c + k;
                if (i0 < n0 && i1 < n1) {
                    out[i0 * out_stride0 + i1] = out4[k];
                }
            }
        }
    }
}
