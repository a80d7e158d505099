// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 bfloat16 inf nan Vec load store maximum minimum Sum Largest quotients from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0), n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: n1 == 32, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=softmax, grid=ceil(n0 / 64), block=128, args=x, out, n0, n1
extern "C" __global__ void __launch_bounds__(128) softmax(
        const bfloat16* __restrict__ x,  // contiguous
        bfloat16* __restrict__ out,      // contiguous
        const uint32 n0,                 // extent of i0
        const uint32 n1) {               // extent of i1
    const int thread = threadIdx.x % 2;
    const int row = blockIdx.x * 64 + threadIdx.x / 2;
    if (row >= n0) return;

    const auto x_row = x + row * n1;
    Vec<bfloat16, 8> x8[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = thread * 8 + v * 16;
        x8[v] = load<8>(x_row, i);
    }
    float m_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        m_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            m_of[k] = maximum(float(x8[v][k]), m_of[k]);
        }
    }
    const float m = combined<Largest, 8, 2, 0>(m_of);
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
    Vec<float, 8> e_of[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float e = expf(float(x8[v][k]) - m);
            sum_of[k] = sum_of[k] + e;
            e_of[v][k] = e;
        }
    }
    const float sum = combined<Sum, 8, 2, 1>(sum_of);
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = thread * 8 + v * 16;
        const auto quotient8 = quotients(e_of[v], sum);
        Vec<bfloat16, 8> out8;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            out8[k] = bfloat16(quotient8[k]);
        }
        store(out_row, i, out8);
    }
}
