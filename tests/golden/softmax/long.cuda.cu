// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf Vec load store maximum Sum Largest from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 262144 < n1 <= 524288, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=softmax, grid=x.size(0), block=1024, args=x, out, n1
extern "C" __global__ void __launch_bounds__(1024) softmax(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const uint32 n1) {            // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    float m_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        m_of[c] = -inf;
    }
    for (int from = threadIdx.x * 4; from < n1; from += 131072) {
        for (int v = 0; v < 32; ++v) {
            const int i = from + v * 4096;
            if (i < n1) {
                const auto x4 = load<4>(x_row, i);
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    m_of[k] = maximum(x4[k], m_of[k]);
                }
            }
        }
    }
    const float m = combined<Largest, 4, 1024, 0>(m_of);
    float sum_of[128];
#pragma unroll
    for (int c = 0; c < 128; ++c) {
        sum_of[c] = 0.0f;
    }
    for (int from = threadIdx.x * 4; from < n1; from += 131072) {
        for (int v = 0; v < 32; ++v) {
            const int i = from + v * 4096;
            if (i < n1) {
                const auto x4_1 = load<4>(x_row, i);
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float e = expf(x4_1[k] - m);
                    sum_of[v * 4 + k] = sum_of[v * 4 + k] + e;
                }
            }
        }
    }
    const float sum = combined<Sum, 4, 1024, 1>(sum_of);
    const auto out_row = out + row * n1;
    for (int from = threadIdx.x * 4; from < n1; from += 131072) {
        for (int v = 0; v < 32; ++v) {
            const int i = from + v * 4096;
            if (i < n1) {
                const auto x4_2 = load<4>(x_row, i);
                Vec<float, 4> out4;
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float e = expf(x4_2[k] - m);
                    out4[k] = e / sum;
                }
                store(out_row, i, out4);
            }
        }
    }
}
