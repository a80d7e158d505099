// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias
//
// prelude: int64 argument smaller_of maximum

// where: n1 = x.size(1)
// requires: x.size(0) == y.size(0)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: y.dtype == f32, y.dim() == 2, y.size(1) == 1, y.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x, y)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=relu_add, units=x.size(0)*x.size(1), args=x, y, f32(bias), out, i64(n1)
extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i0
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + row;
        const auto y_row = y + i0;
        const auto out_row = out + row;
        const float y_value = y_row[0];
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = maximum(0.0f, x_row[i1]) + y_value + bias;
        }
        i += last - first;
    }
}
