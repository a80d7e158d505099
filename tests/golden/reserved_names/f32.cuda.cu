// def threadIdx(float4, i, n, NULL, half: float):
//     """A text that ends a comment */, a line \ .
//     and a trigraph ? ?/
//     """
//     k = float4 * half
//     λ = k + i
//     return λ / (n + abs(k)) + NULL
//
// prelude: Vec load store load_until store_until

// where: n_1 = float4.size(0)
// requires: float4.size(0) == i.size(0), float4.size(0) == NULL.size(0), n.size(0) == float4.size(0)
// requires: float4.dtype == f32, float4.dim() == 1, float4.is_contiguous(), aligned(float4, 16)
// requires: i.dtype == f32, i.dim() == 1, i.is_contiguous(), aligned(i, 16)
// requires: n.dtype == f32, n.dim() == 1, n.is_contiguous(), aligned(n, 16)
// requires: NULL.dtype == f32, NULL.dim() == 1, NULL.is_contiguous(), aligned(NULL, 16)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == float4.size(0), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, float4, i, n, NULL)
// requires: 1 <= n_1 <= 2147418111
// launch: entry=threadIdx_, grid=ceil(n_1 / 1024), block=256, args=float4, i, n, NULL, half, out, n_1
extern "C" __global__ void __launch_bounds__(256) threadIdx_(
        const float* __restrict__ float4_,  // contiguous
        const float* __restrict__ i,        // contiguous
        const float* __restrict__ n,        // contiguous
        const float* __restrict__ NULL_,    // contiguous
        const float half,
        float* __restrict__ out,            // contiguous
        const int n_1) {                    // elements
    const int i_1 = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i_1 >= n_1) return;
    const bool whole = i_1 + 4 <= n_1;

    Vec<float, 4> float4_4, i4, n4, NULL_4;
    if (whole) {
        float4_4 = load<4>(float4_, i_1);
        i4 = load<4>(i, i_1);
        n4 = load<4>(n, i_1);
        NULL_4 = load<4>(NULL_, i_1);
    } else {
        float4_4 = load_until<4>(float4_, i_1, n_1);
        i4 = load_until<4>(i, i_1, n_1);
        n4 = load_until<4>(n, i_1, n_1);
        NULL_4 = load_until<4>(NULL_, i_1, n_1);
    }
    Vec<float, 4> out4;
#pragma unroll
    for (int k_1 = 0; k_1 < 4; ++k_1) {
        const float k = float4_4[k_1] * half;
        const float lambda = k + i4[k_1];
        out4[k_1] = lambda / (n4[k_1] + fabsf(k)) + NULL_4[k_1];
    }
    if (whole) {
        store(out, i_1, out4);
    } else {
        store_until(out, i_1, n_1, out4);
    }
}
