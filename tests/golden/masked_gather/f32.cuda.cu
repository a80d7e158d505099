// def embed(table, i, j, x):
//     return where(i >= 0, table[i] * x, -x), where(i >= 0, table[j], 1.0)
//
// prelude: int64 Vec load store load_until store_until wrap_index

// where: n = i.size(0), table_size = table.size(0)
// requires: table.size(0) > 0 or i.size(0) == 0, table.size(0) > 0 or j.size(0) == 0, i.size(0) == j.size(0),
//   i.size(0) == x.size(0)
// requires: table.dtype == f32, table.dim() == 1, table.is_contiguous()
// requires: i.dtype == i64, i.dim() == 1, i.is_contiguous(), aligned(i, 16)
// requires: j.dtype == i64, j.dim() == 1, j.is_contiguous(), aligned(j, 16)
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == i.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == i.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, table, i, j, x, out1), no_overlap(out1, table, i, j, x)
// requires: 1 <= n <= 2147418111, table_size <= 2147483647
// launch: entry=embed, grid=ceil(n / 512), block=256, args=table, table, i, j, x, out0, out1, n, table_size, 1
extern "C" __global__ void __launch_bounds__(256) embed(
        const float* __restrict__ table_0,  // at index * table_step
        const float* __restrict__ table_1,  // at index * table_step
        const int64* __restrict__ i,        // contiguous
        const int64* __restrict__ j,        // contiguous
        const float* __restrict__ x,        // contiguous
        float* __restrict__ out0,           // contiguous
        float* __restrict__ out1,           // contiguous
        const int n,                        // elements
        const int table_size,
        const int table_step) {
    const int i_1 = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i_1 >= n) return;
    const bool whole = i_1 + 2 <= n;

    Vec<int64, 2> i2;
    Vec<float, 2> x2;
    Vec<int64, 2> j2;
    if (whole) {
        i2 = load<2>(i, i_1);
        x2 = load<2>(x, i_1);
        j2 = load<2>(j, i_1);
    } else {
        i2 = load_until<2>(i, i_1, n);
        x2 = load_until<2>(x, i_1, n);
        j2 = load_until<2>(j, i_1, n);
    }
    Vec<float, 2> out0_2, out1_2;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        float chosen;
        float chosen_1 = 1.0f;
        if (i2[k] >= 0LL) {
            chosen = table_0[wrap_index(i2[k], table_size) * table_step] * x2[k];
            chosen_1 = table_1[wrap_index(j2[k], table_size) * table_step];
        } else {
            chosen = -x2[k];
        }
        out0_2[k] = chosen;
        out1_2[k] = chosen_1;
    }
    if (whole) {
        store(out0, i_1, out0_2);
        store(out1, i_1, out1_2);
    } else {
        store_until(out0, i_1, n, out0_2);
        store_until(out1, i_1, n, out1_2);
    }
}
