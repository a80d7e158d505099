// def embed(table, i, j, x):
//     return where(i >= 0, table[i] * x, -x), where(i >= 0, table[j], 1.0)
//
// prelude: int64 argument check_index

// where: table_size = table.size(0)
// requires: table.size(0) > 0 or i.size(0) == 0, table.size(0) > 0 or j.size(0) == 0, i.size(0) == j.size(0),
//   i.size(0) == x.size(0)
// requires: table.dtype == f32, table.dim() == 1, table.is_contiguous()
// requires: i.dtype == i64, i.dim() == 1, i.is_contiguous()
// requires: j.dtype == i64, j.dim() == 1, j.is_contiguous()
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous()
// requires: out0.dtype == f32, out0.dim() == 1, out0.size(0) == i.size(0), out0.is_contiguous()
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == i.size(0), out1.is_contiguous()
// requires: no_overlap(out0, table, i, j, x, out1), no_overlap(out1, table, i, j, x)
// requires: i.size(0) >= 1
// scratch: status = zeros(i32, 1)
// launch: entry=embed, units=i.size(0), args=table, table, i, j, x, out0, out1, i64(table_size), i64(1), status
extern "C" void embed(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict table_0 = argument<const float*>(arguments[0]);  // at index * table_step
    const float* __restrict table_1 = argument<const float*>(arguments[1]);  // at index * table_step
    const int64* __restrict i = argument<const int64*>(arguments[2]);        // contiguous
    const int64* __restrict j = argument<const int64*>(arguments[3]);        // contiguous
    const float* __restrict x = argument<const float*>(arguments[4]);        // contiguous
    float* __restrict out0 = argument<float*>(arguments[5]);                 // contiguous
    float* __restrict out1 = argument<float*>(arguments[6]);                 // contiguous
    const int64 table_size = argument<int64>(arguments[7]);
    const int64 table_step = argument<int64>(arguments[8]);
    int* status = argument<int*>(arguments[9]);                              // error code

    int bad = 0;
#pragma omp simd reduction(max : bad)
    for (int64 i_1 = begin; i_1 < end; ++i_1) {
        const int64 i_i_1 = i[i_1];
        const float x_i_1 = x[i_1];
        const int64 j_i_1 = j[i_1];
        float chosen;
        float chosen_1 = 1.0f;
        if (i_i_1 >= 0LL) {
            const int64 i_wrapped = check_index(i_i_1, table_size, bad, 2);
            const int64 j_wrapped = check_index(j_i_1, table_size, bad, 2);
            chosen = table_0[i_wrapped * table_step] * x_i_1;
            chosen_1 = table_1[j_wrapped * table_step];
        } else {
            chosen = -x_i_1;
        }
        out0[i_1] = chosen;
        out1[i_1] = chosen_1;
    }
    if (bad != 0) {
        *status = bad;
    }
}
