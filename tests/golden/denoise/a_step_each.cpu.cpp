// def denoise(eps, sample, noise, table, t):  # table: [5, steps], t: an integer tensor
//     x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
//     return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise
//
// prelude: int64 argument smaller_of check_index maximum minimum

// where: n1 = eps.size(1)*eps.size(2)*eps.size(3), table_size = table.size(1)
// requires: eps.size(0) == noise.size(0), eps.size(1) == noise.size(1), eps.size(2) == noise.size(2),
//   eps.size(3) == noise.size(3), sample.size(0) == eps.size(0), sample.size(1) == eps.size(1),
//   sample.size(2) == eps.size(2), sample.size(3) == eps.size(3), table.size(1) > 0 or eps.size(0) == 0,
//   table.size(1) > 0 or t.size(0) == 0, t.size(0) == eps.size(0), table.size(0) == 5
// requires: eps.dtype == f32, eps.dim() == 4, eps.is_contiguous()
// requires: sample.dtype == f32, sample.dim() == 4, sample.is_contiguous()
// requires: noise.dtype == f32, noise.dim() == 4, noise.is_contiguous()
// requires: table.dtype == f32, table.dim() == 2, table.is_contiguous()
// requires: t.dtype == i64, t.dim() == 4, t.size(1) == 1, t.size(2) == 1, t.size(3) == 1, t.is_contiguous()
// requires: out.dtype == f32, out.dim() == 4, out.size(0) == eps.size(0), out.size(1) == eps.size(1),
//   out.size(2) == eps.size(2), out.size(3) == eps.size(3), out.is_contiguous()
// requires: no_overlap(out, eps, sample, noise, table, t)
// requires: eps.size(0)*eps.size(1)*eps.size(2)*eps.size(3) >= 1
// scratch: status = zeros(i32, 1)
// launch: entry=denoise, units=eps.size(0)*eps.size(1)*eps.size(2)*eps.size(3), args=eps, sample, noise,
//   table + (table.size(1)*2), table, table + table_size, table + (table.size(1)*3), table + (table.size(1)*4), t, out,
//   i64(n1), i64(table_size), i64(1), status
extern "C" void denoise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict eps = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict sample = argument<const float*>(arguments[1]);   // contiguous
    const float* __restrict noise = argument<const float*>(arguments[2]);    // contiguous
    const float* __restrict table_2 = argument<const float*>(arguments[3]);  // at index * table_step
    const float* __restrict table_0 = argument<const float*>(arguments[4]);  // at index * table_step
    const float* __restrict table_1 = argument<const float*>(arguments[5]);  // at index * table_step
    const float* __restrict table_3 = argument<const float*>(arguments[6]);  // at index * table_step
    const float* __restrict table_4 = argument<const float*>(arguments[7]);  // at index * table_step
    const int64* __restrict t = argument<const int64*>(arguments[8]);        // at i0
    float* __restrict out = argument<float*>(arguments[9]);                  // contiguous
    const int64 n1 = argument<int64>(arguments[10]);                         // extent of i1
    const int64 table_size = argument<int64>(arguments[11]);
    const int64 table_step = argument<int64>(arguments[12]);
    int* status = argument<int*>(arguments[13]);                             // error code

    int bad = 0;
    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto t_row = t + i0;
        const auto sample_row = sample + row;
        const auto eps_row = eps + row;
        const auto noise_row = noise + row;
        const auto out_row = out + row;
        const int64 t_wrapped = check_index(t_row[0], table_size, bad, 2);
        const float table_2_value = table_2[t_wrapped * table_step];
        const float table_0_value = table_0[t_wrapped * table_step];
        const float table_1_value = table_1[t_wrapped * table_step];
        const float table_3_value = table_3[t_wrapped * table_step];
        const float table_4_value = table_4[t_wrapped * table_step];
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            const float sample_i1 = sample_row[i1];
            const float v1 = (sample_i1 - table_0_value * eps_row[i1]) * table_1_value;
            const float x0 = minimum(1.0f, maximum(-1.0f, v1));
            const float v2 = table_2_value * x0 + table_3_value * sample_i1;
            out_row[i1] = v2 + table_4_value * noise_row[i1];
        }
        i += last - first;
    }
    if (bad != 0) {
        *status = bad;
    }
}
