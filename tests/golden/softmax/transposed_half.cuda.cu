// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 float16 inf Vec load store maximum Sum Largest tree quotient_of carry combined_across

// where: n0 = x.size(0), n1 = x.size(1), x_stride1 = x.stride(1), out_stride1 = out.stride(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f16, x.dim() == 2, x.stride(0) == 1, aligned(x, 16)
// requires: out.dtype == f16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1,
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 256 < n1 <= 512, 1 <= x.size(0)*x.size(1) <= 2139095039,
//   x.size(0) + x.size(1)*x.stride(1) - x.stride(1) <= 2147483647,
//   x.size(0) + x.size(1)*out.stride(1) - out.stride(1) <= 2147483647, n0 % 16 == 0, n1 % 8 == 0, x_stride1 % 8 == 0,
//   out_stride1 % 8 == 0
// launch: entry=softmax, grid=ceil(n0 / 256), block=512, args=x, out, n0, n1, x_stride1, out_stride1
extern "C" __global__ void __launch_bounds__(512) softmax(
        const float16* __restrict__ x,  // at row + i * x_stride1
        float16* __restrict__ out,      // at row + i * out_stride1
        const uint32 n0,                // extent of i0
        const uint32 n1,                // extent of i1
        const int x_stride1,
        const int out_stride1) {
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 256 + threadIdx.x % 32 * 8;
    if (row >= n0) return;
    const int first = thread * 16;
    const int last = n1 - 1;

    Vec<float, 8> m_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            m_of[c][k] = -inf;
        }
    }
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        m_of[v][k] = maximum(float(x8[v][k]), m_of[v][k]);
                    }
                }
            }
        }
    }
    const Vec<float, 8> m = combined_across<Largest, 16, 32, 0>(tree<Largest, 4>(m_of));
    Vec<float, 8> sum_levels[3];
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        Vec<float, 8> sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                sum_of[c][k] = 0.0f;
            }
        }
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8_1[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8_1[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const float e = expf(float(x8_1[v][k]) - m[k]);
                        sum_of[v][k] = sum_of[v][k] + e;
                    }
                }
            }
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const Vec<float, 8> sum = combined_across<Sum, 16, 32, 1>(sum_levels[2]);
#pragma unroll 1
    for (int g = 0; g < 16; g += 4) {
        for (int from = first + g; from < n1; from += 256) {
            Vec<float16, 8> x8_2[4];
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                const int at = min(i, last);
                x8_2[v] = load<8>(x, row + at * x_stride1);
            }
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = from + v;
                if (i < n1) {
                    Vec<float16, 8> out8;
#pragma unroll
                    for (int k = 0; k < 8; ++k) {
                        const float e = expf(float(x8_2[v][k]) - m[k]);
                        out8[k] = float16(quotient_of(e, sum[k]));
                    }
                    store(out, row + i * out_stride1, out8);
                }
            }
        }
    }
}
