// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r
//
// prelude: int64 uint64 argument smaller_of is_below_zero shift_right philox_round philox random_word

// where: n1 = x.size(0), position_stride1 = x.size(1)
// requires: x.size(0) == r.size(0), x.size(1) == r.size(1), 0 <= p, p <= 1, p != 0
// requires: x.dtype == f32, x.dim() == 2, x.stride(0) == 1
// requires: r.dtype == f32, r.dim() == 2, r.stride(0) == 1
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1
// requires: no_overlap(out, x, r)
// requires: x.stride(1) == n1, r.stride(1) == n1, out.stride(1) == n1, x.size(0)*x.size(1) >= 1
// scratch: seed = zeros(i64, 1)
// launch: entry=dropout, units=x.size(0)*x.size(1), args=x, r, seed, f32(1 - p), f32(1 / (1 - p + (p == 1))), out,
//   i64(n1), i64(position_stride1)
extern "C" void dropout(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);     // contiguous
    const float* __restrict r = argument<const float*>(arguments[1]);     // contiguous
    const int64* __restrict seed = argument<const int64*>(arguments[2]);  // one element
    const float s1 = argument<float>(arguments[3]);                       // 1 - p
    const float s2 = argument<float>(arguments[4]);                       // 1 / (1 - p + (p == 1))
    float* __restrict out = argument<float*>(arguments[5]);               // contiguous
    const int64 n1 = argument<int64>(arguments[6]);                       // extent of i1
    const int64 position_stride1 = argument<int64>(arguments[7]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + row;
        const auto r_row = r + row;
        const auto out_row = out + row;
        const int64 seed_value = seed[0];
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            const int64 v1 = random_word(seed_value, 0LL, i0 + i1 * position_stride1);
            const float v2 = float(float(int(shift_right(v1, 8LL))) * 5.9604645e-08f < s1);
            out_row[i1] = x_row[i1] * v2 * s2 + r_row[i1];
        }
        i += last - first;
    }
}
