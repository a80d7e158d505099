// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r
//
// prelude: int64 uint64 argument is_below_zero shift_right philox_round philox random_word

// requires: x.size(0) == r.size(0), x.size(1) == r.size(1), x.size(2) == r.size(2), 0 <= p, p <= 1, p != 0
// requires: x.dtype == f32, x.dim() == 3, x.is_contiguous()
// requires: r.dtype == f32, r.dim() == 3, r.is_contiguous()
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.is_contiguous()
// requires: no_overlap(out, x, r)
// requires: x.size(0)*x.size(1)*x.size(2) >= 1
// scratch: seed = zeros(i64, 1)
// launch: entry=dropout, units=x.size(0)*x.size(1)*x.size(2), args=x, r, seed, f32(1 - p), f32(1 / (1 - p + (p == 1))),
//   out
extern "C" void dropout(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);     // contiguous
    const float* __restrict r = argument<const float*>(arguments[1]);     // contiguous
    const int64* __restrict seed = argument<const int64*>(arguments[2]);  // one element
    const float s1 = argument<float>(arguments[3]);                       // 1 - p
    const float s2 = argument<float>(arguments[4]);                       // 1 / (1 - p + (p == 1))
    float* __restrict out = argument<float*>(arguments[5]);               // contiguous

    const int64 seed_value = seed[0];
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float v1 = float(int(shift_right(random_word(seed_value, 0LL, i), 8LL)));
        out[i] = x[i] * float(v1 * 5.9604645e-08f < s1) * s2 + r[i];
    }
}
