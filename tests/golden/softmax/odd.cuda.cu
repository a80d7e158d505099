// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf maximum Sum Largest from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 896 < n1 <= 1024, 1 <= x.size(0)*x.size(1) <= 2139095039
// launch: entry=softmax, grid=x.size(0), block=128, args=x, out, n1
extern "C" __global__ void __launch_bounds__(128) softmax(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const uint32 n1) {            // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    float x_of[8];
#pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = threadIdx.x + v * 128;
        if (v < 7 || i < n1) {
            x_of[v] = x_row[i];
        }
    }
    float m_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        m_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = threadIdx.x + v * 128;
        if (v < 7 || i < n1) {
            m_of[0] = maximum(x_of[v], m_of[0]);
        }
    }
    const float m = combined<Largest, 1, 128, 0>(m_of);
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = threadIdx.x + v * 128;
        if (v < 7 || i < n1) {
            const float e = expf(x_of[v] - m);
            sum_of[v % 4] = sum_of[v % 4] + e;
            x_of[v] = e;
        }
    }
    const float sum = combined<Sum, 1, 128, 1>(sum_of);
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 8; ++v) {
        const int i = threadIdx.x + v * 128;
        if (v < 7 || i < n1) {
            out_row[i] = x_of[v] / sum;
        }
    }
}
