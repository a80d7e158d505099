// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index
//
// prelude: int64 uint32 bfloat16 inf bit_cast Vec words_at take_larger FirstLargest Found from_thread unsigned_of load_in_row combined_found

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out0.dtype == bf16, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == i64, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, x, out1), no_overlap(out1, x)
// requires: 896 < n1 <= 1024, 1 <= x.size(0)*x.size(1) <= 2139095039
// launch: entry=largest, grid=x.size(0), block=64, args=x, out0, out1, n1
extern "C" __global__ void __launch_bounds__(64) largest(
        const bfloat16* __restrict__ x,  // contiguous
        bfloat16* __restrict__ out0,     // at row
        int64* __restrict__ index,       // at row
        const uint32 n1) {               // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    Vec<bfloat16, 8> x8[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        if (v < 1 || i < n1) {
            x8[v] = load_in_row<8>(x_row, i, n1);
        }
    }
    float value_of[8];
    int index_1_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        value_of[c] = -inf;
        index_1_of[c] = 0;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 8 + v * 512;
        if (v < 1 || i < n1) {
#pragma unroll
            for (int k = 0; k < 8; ++k) {
                const float v1 = float(x8[v][k]);
                if (v < 1 || i + k < n1) {
                    take_larger(value_of[k], index_1_of[k], v1, i + k);
                }
            }
        }
    }
    const auto [value, index_1] = combined_found<FirstLargest, 8, 64, 0>(value_of, index_1_of);
    const bfloat16 v2 = bfloat16(value * 2.0f);
    if (threadIdx.x == 0) {
        out0[row] = v2;
        index[row] = int64(index_1);
    }
}
