// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf nan Vec load store maximum minimum Sum Largest quotients from_thread with_thread tree Resident place_of in_turn Deal of_block of_runs cluster_arrives cluster_waits of_other_block combined_in_cluster

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 98304 < n1 <= 114688, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=softmax, grid=x.size(0) * 4, block=512, cluster=4, shared=max(0, ceil(n1 / 8192) - 8) * 8192, args=x,
//   out, n1
extern "C" __global__ void __cluster_dims__(4) __launch_bounds__(512, 2) softmax(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const uint32 n1) {            // extent of i1
    const int thread = blockIdx.x % 4 * 512 + threadIdx.x;
    const int row = blockIdx.x / 4;

    const auto x_row = x + row * n1;
    Resident<Vec<float, 4>, 8, 512> x4;
#pragma unroll
    for (int v = 0; v < 14; ++v) {
        const int i = thread * 4 + v * 8192;
        if (v < 7 || i < n1) {
            x4[v] = load<4>(x_row, i);
        }
    }
    float m_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        m_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 14; ++v) {
        const int i = thread * 4 + v * 8192;
        if (v < 7 || i < n1) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                m_of[k] = maximum(x4[v][k], m_of[k]);
            }
        }
    }
    const float m = combined_in_cluster<Largest, 4, 512, 4, 0>(m_of);
    float sum_of_runs[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = r; v < 14; v += 4) {
            const int i = thread * 4 + v * 8192;
            if (v < 7 || i < n1) {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float e = expf(x4[v][k] - m);
                    sum_of[k] = sum_of[k] + e;
                    x4[v][k] = e;
                }
            }
        }
        sum_of_runs[r] = tree<Sum, 4>(sum_of);
    }
    const float sum = combined_in_cluster<Sum, 1, 512, 4, 1>(sum_of_runs);
    cluster_arrives();
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 14; ++v) {
        const int i = thread * 4 + v * 8192;
        if (v < 7 || i < n1) {
            const auto quotient4 = quotients(x4[v], sum);
            Vec<float, 4> out4;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                out4[k] = quotient4[k];
            }
            store(out_row, i, out4);
        }
    }
    cluster_waits();
}
