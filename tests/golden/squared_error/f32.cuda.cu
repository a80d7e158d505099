// def squared_error(x, y):
//     return mean((x - y) ** 2)
//
// prelude: int64 uint32 Vec load Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous(), aligned(y, 16)
// requires: 524288 < n0 <= 1048576, 1 <= n0 <= 2139095039, n0 % 8 == 0
// scratch: found = empty(f32, 256)
// launch: entry=squared_error, grid=256, block=256, args=x, y, found, n0
extern "C" __global__ void __launch_bounds__(256) squared_error(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // contiguous
        float* found,                 // partial results of chunks
        const uint32 n0) {            // extent of i0
    const int chunk = blockIdx.x % 256;
    const int row = blockIdx.x / 256;

    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll 4
    for (int i = chunk * 1024 + threadIdx.x * 4; i < n0; i += 262144) {
        const auto x4 = load<4>(x, i);
        const auto y4 = load<4>(y, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float v1 = x4[k] - y4[k];
            sum_of[k] = fmaf(v1, v1, sum_of[k]);
        }
    }
    const float sum = combined<Sum, 4, 256, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 256 + chunk] = sum;
    }
}

// requires: out.dtype == f32, out.dim() == 0
// launch: entry=squared_error_rest, grid=1, block=256, args=float32(1 / (x.size(0)*x.size(1))), out, found
extern "C" __global__ void __launch_bounds__(256) squared_error_rest(
        const float s1,           // float32(1 / (x.size(0)*x.size(1)))
        float* __restrict__ out,  // one element
        float* found) {           // partial results of chunks
    const int row = blockIdx.x;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 256 + (v * 256 + threadIdx.x)];
    }
    const float sum = combined<Sum, 1, 256, 0>(sum_of);
    const float v1 = sum * s1;
    if (threadIdx.x == 0) {
        out[0] = v1;
    }
}
