// def squared_error(x, y):
//     return mean((x - y) ** 2)
//
// prelude: int64 uint32 float16 Vec load load_if Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == f16, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f16, y.dim() == 1, y.is_contiguous(), aligned(y, 16)
// requires: out.dtype == f16, out.dim() == 0
// requires: no_overlap(out, x, y)
// requires: 896 < n0 <= 1024, 1 <= n0 <= 2139095039, n0 % 8 == 0
// launch: entry=squared_error, grid=1, block=64, args=x, y, float32(1 / x.size(0)), out, n0
extern "C" __global__ void __launch_bounds__(64) squared_error(
        const float16* __restrict__ x,  // contiguous
        const float16* __restrict__ y,  // contiguous
        const float s1,                 // float32(1 / x.size(0))
        float16* __restrict__ out,      // one element
        const uint32 n0) {              // extent of i0
    Vec<float16, 8> x8[2], y8[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        const bool is_element = v < 1 || i < n0;
        x8[v] = load_if<8>(x, i, is_element);
        y8[v] = load_if<8>(y, i, is_element);
    }
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        const bool is_element = v < 1 || i < n0;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float v1 = float(x8[v][k]) - float(y8[v][k]);
            sum_of[k] = is_element ? fmaf(v1, v1, sum_of[k]) : sum_of[k];
        }
    }
    const float sum = combined<Sum, 8, 64, 0>(sum_of);
    const float16 v2 = float16(sum * s1);
    if (threadIdx.x == 0) {
        out[0] = v2;
    }
}
