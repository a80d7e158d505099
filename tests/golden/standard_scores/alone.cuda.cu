// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)
//
// prelude: int64 uint32 Vec load load_if store Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 6144 < n0 <= 7168, 1 <= n0 <= 2139095039, n0 % 8 == 0
// launch: entry=standard_scores, grid=1, block=512, args=x, float32(1 / (x.size(0)*x.size(1))), out, n0
extern "C" __global__ void __launch_bounds__(512) standard_scores(
        const float* __restrict__ x,  // contiguous
        const float s1,               // float32(1 / (x.size(0)*x.size(1)))
        float* __restrict__ out,      // contiguous
        const uint32 n0) {            // extent of i0
    Vec<float, 4> x4[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 2048;
        const bool is_element = v < 3 || i < n0;
        x4[v] = load_if<4>(x, i, is_element);
    }
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 2048;
        const bool is_element = v < 3 || i < n0;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of[k] = is_element ? sum_of[k] + x4[v][k] : sum_of[k];
        }
    }
    const float sum = combined<Sum, 4, 512, 0>(sum_of);
    const float v1 = sum * s1;
    float sum_1_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_1_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 2048;
        const bool is_element = v < 3 || i < n0;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float d = x4[v][k] - v1;
            sum_1_of[k] = is_element ? fmaf(d, d, sum_1_of[k]) : sum_1_of[k];
        }
    }
    const float sum_1 = combined<Sum, 4, 512, 1>(sum_1_of);
    const float v2 = rsqrtf(sum_1 * s1 + 1e-06f);
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 2048;
        const bool is_element = v < 3 || i < n0;
        Vec<float, 4> out4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float d = x4[v][k] - v1;
            out4[k] = d * v2;
        }
        if (is_element) {
            store(out, i, out4);
        }
    }
}
