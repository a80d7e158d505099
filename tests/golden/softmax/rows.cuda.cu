// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf nan Vec load store maximum minimum Sum Largest quotients from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: n1 == 4096, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=softmax, grid=x.size(0), block=256, args=x, out, n1
extern "C" __global__ void __launch_bounds__(256) softmax(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const uint32 n1) {            // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    Vec<float, 4> x4[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        x4[v] = load<4>(x_row, i);
    }
    float m_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        m_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            m_of[k] = maximum(x4[v][k], m_of[k]);
        }
    }
    const float m = combined<Largest, 4, 256, 0>(m_of);
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float e = expf(x4[v][k] - m);
            sum_of[k] = sum_of[k] + e;
            x4[v][k] = e;
        }
    }
    const float sum = combined<Sum, 4, 256, 1>(sum_of);
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        const auto quotient4 = quotients(x4[v], sum);
        Vec<float, 4> out4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out4[k] = quotient4[k];
        }
        store(out_row, i, out4);
    }
}
