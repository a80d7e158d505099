// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument smaller_of maximum repeat

// where: n1 = x.size(1)
// requires: x.size(1) == y.size(0)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 1, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=relu_add, units=x.size(0), args=x, y, f32(bias), out, i64(n1)
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i1
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    const int64 most = 1024 / n1;
    float y_chunk[1024];
    repeat(y, 1, y_chunk, most, n1);
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto out_rows = out + i0 * n1;
#pragma omp simd simdlen(8)
        for (int64 i = 0; i < rows * n1; ++i) {
            out_rows[i] = maximum(0.0f, x_rows[i]) + y_chunk[i] + bias;
        }
        i0 += rows;
    }
}
