// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index
//
// prelude: int64 uint32 inf Vec load load_if take_larger FirstLargest Found from_thread combined_found

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == i64, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, x, out1), no_overlap(out1, x)
// requires: 896 < n1 <= 1024, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=largest, grid=x.size(0), block=128, args=x, out0, out1, n1
extern "C" __global__ void __launch_bounds__(128) largest(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out0,     // at row
        int64* __restrict__ index,    // at row
        const uint32 n1) {            // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    Vec<float, 4> x4[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 512;
        const bool is_element = v < 1 || i < n1;
        x4[v] = load_if<4>(x_row, i, is_element);
    }
    float value_of[4];
    int index_1_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        value_of[c] = -inf;
        index_1_of[c] = 0;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 512;
        const bool is_element = v < 1 || i < n1;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (is_element) {
                take_larger(value_of[k], index_1_of[k], x4[v][k], i + k);
            }
        }
    }
    const auto [value, index_1] = combined_found<FirstLargest, 4, 128, 0>(value_of, index_1_of);
    const float v1 = value * 2.0f;
    if (threadIdx.x == 0) {
        out0[row] = v1;
        index[row] = int64(index_1);
    }
}
