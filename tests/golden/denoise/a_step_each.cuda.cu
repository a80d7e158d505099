// def denoise(eps, sample, noise, table, t):  # table: [5, steps], t: an integer tensor
//     x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
//     return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
//
// prelude: int64 uint32 Vec load store wrap_index maximum minimum

// where: n = eps.size(0)*eps.size(1)*eps.size(2)*eps.size(3), n1 = eps.size(1)*eps.size(2)*eps.size(3),
//   table_size = table.size(1)
// requires: eps.size(0) == noise.size(0), eps.size(1) == noise.size(1), eps.size(2) == noise.size(2),
//   eps.size(3) == noise.size(3), sample.size(0) == eps.size(0), sample.size(1) == eps.size(1),
//   sample.size(2) == eps.size(2), sample.size(3) == eps.size(3), table.size(1) > 0 or eps.size(0) == 0,
//   table.size(1) > 0 or t.size(0) == 0, t.size(0) == eps.size(0), table.size(0) == 5
// requires: eps.dtype == f32, eps.dim() == 4, eps.is_contiguous(), aligned(eps, 16)
// requires: sample.dtype == f32, sample.dim() == 4, sample.is_contiguous(), aligned(sample, 16)
// requires: noise.dtype == f32, noise.dim() == 4, noise.is_contiguous(), aligned(noise, 16)
// requires: table.dtype == f32, table.dim() == 2, table.is_contiguous()
// requires: t.dtype == i64, t.dim() == 4, t.size(1) == 1, t.size(2) == 1, t.size(3) == 1, t.is_contiguous(),
//   aligned(t, 16)
// requires: out.dtype == f32, out.dim() == 4, out.size(0) == eps.size(0), out.size(1) == eps.size(1),
//   out.size(2) == eps.size(2), out.size(3) == eps.size(3), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, eps, sample, noise, table, t)
// requires: 1 <= n <= 2147418111, table_size <= 2147483647, n1 % 8 == 0
// launch: entry=denoise, grid=ceil(n / 1024), block=256, args=eps, sample, noise, table + (table.size(1)*2), table,
//   table + table_size, table + (table.size(1)*3), table + (table.size(1)*4), t, out, n, n1, table_size, 1
extern "C" __global__ void __launch_bounds__(256) denoise(
        const float* __restrict__ eps,      // contiguous
        const float* __restrict__ sample,   // contiguous
        const float* __restrict__ noise,    // contiguous
        const float* __restrict__ table_2,  // at index * table_step
        const float* __restrict__ table_0,  // at index * table_step
        const float* __restrict__ table_1,  // at index * table_step
        const float* __restrict__ table_3,  // at index * table_step
        const float* __restrict__ table_4,  // at index * table_step
        const int64* __restrict__ t,        // at i0
        float* __restrict__ out,            // contiguous
        const int n,                        // elements
        const uint32 n1,                    // extent of i1
        const int table_size,
        const int table_step) {
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i0 = i / n1;

    const auto sample4 = load<4>(sample, i);
    const auto eps4 = load<4>(eps, i);
    const auto noise4 = load<4>(noise, i);
    const int t_wrapped = wrap_index(t[i0], table_size);
    const float table_2_value = table_2[t_wrapped * table_step];
    const float table_0_value = table_0[t_wrapped * table_step];
    const float table_1_value = table_1[t_wrapped * table_step];
    const float table_3_value = table_3[t_wrapped * table_step];
    const float table_4_value = table_4[t_wrapped * table_step];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = (sample4[k] - table_0_value * eps4[k]) * table_1_value;
        const float x0 = minimum(1.0f, maximum(-1.0f, v1));
        const float v2 = table_2_value * x0 + table_3_value * sample4[k];
        out4[k] = v2 + table_4_value * noise4[k];
    }
    store(out, i, out4);
}
