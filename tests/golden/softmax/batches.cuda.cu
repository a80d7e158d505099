// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf Vec load store maximum Sum Largest from_thread with_thread tree take_rows leave_rows place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0), n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 64 < n1 <= 80, 1 <= x.size(0)*x.size(1) <= 2139095039
// launch: entry=softmax, grid=ceil(n0 / 32), block=128, args=x, out, n0, n1
extern "C" __global__ void __launch_bounds__(128) softmax(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const uint32 n0,              // extent of i0
        const uint32 n1) {            // extent of i1
    const int first = blockIdx.x * 32 + threadIdx.x / 32 * 8;
    if (first >= n0) return;
    const int thread = threadIdx.x % 4;
    const int own = threadIdx.x % 32 / 4;
    const int last = n0 - 1;
    const int count = (min(first + 7, last) + 1 - first) * n1;

    __shared__ __align__(16) float x_rows[4][640];
    take_rows(x_rows[threadIdx.x / 32], x + first * n1, count);
    __syncwarp();
    const auto x_row = x_rows[threadIdx.x / 32] + own * n1;
    float x_of[20];
#pragma unroll
    for (int v = 0; v < 20; ++v) {
        const int i = thread + v * 4;
        if (v < 16 || i < n1) {
            x_of[v] = x_row[i];
        }
    }
    float m_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        m_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 20; ++v) {
        const int i = thread + v * 4;
        if (v < 16 || i < n1) {
            m_of[0] = maximum(x_of[v], m_of[0]);
        }
    }
    const float m = combined<Largest, 1, 4, 0>(m_of);
    float sum_of[16];
#pragma unroll
    for (int c = 0; c < 16; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 20; ++v) {
        const int i = thread + v * 4;
        if (v < 16 || i < n1) {
            const float e = expf(x_of[v] - m);
            sum_of[v % 16] = sum_of[v % 16] + e;
            x_of[v] = e;
        }
    }
    const float sum = combined<Sum, 1, 4, 1>(sum_of);
#pragma unroll
    for (int v = 0; v < 20; ++v) {
        const int i = thread + v * 4;
        if (v < 16 || i < n1) {
            x_row[i] = x_of[v] / sum;
        }
    }
    __syncwarp();
    leave_rows(out + first * n1, x_rows[threadIdx.x / 32], count);
}
