// def causal(x):
//     return x.tril() * 2
//
// prelude: int64 argument smaller_of

// where: n1 = x.size(1), n2 = x.size(2)
// requires: x.dtype == f32, x.dim() == 3, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(0)*x.size(1)*x.size(2) >= 1
// launch: entry=causal, units=x.size(0)*x.size(1)*x.size(2), args=x, out, i64(n1), i64(n2)
extern "C" void causal(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 n2 = argument<int64>(arguments[3]);                    // extent of i2

    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const auto x_row = x + row;
        const auto out_row = out + row;
#pragma omp simd
        for (int64 i2 = first; i2 < last; ++i2) {
            const float x_i2 = x_row[i2];
            out_row[i2] = (i2 > i1 ? 0.0f : x_i2) * 2.0f;
        }
        i += last - first;
    }
}
