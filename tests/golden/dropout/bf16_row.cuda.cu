// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r
//
// prelude: int64 uint32 uint64 bfloat16 Vec load store in_steps is_below_zero shift_right philox_round philox random_word

// where: n = x.size(0)*x.size(1), n1 = x.size(1)
// requires: x.size(1) == r.size(0), 0 <= p, p <= 1, p != 0
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: r.dtype == bf16, r.dim() == 1, r.is_contiguous(), aligned(r, 16)
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x, r)
// requires: 1 <= n <= 2147418111, n1 % 8 == 0
// scratch: seed = zeros(i64, 1)
// launch: entry=dropout, grid=ceil(n / 1024), block=64, args=x, r, seed, 1 - p, 1 / (1 - p + (p == 1)), out, n, n1
extern "C" __global__ void __launch_bounds__(64) dropout(
        const bfloat16* __restrict__ x,  // contiguous
        const bfloat16* __restrict__ r,  // at i1
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        bfloat16* __restrict__ out,      // contiguous
        const int n,                     // elements
        const uint32 n1) {               // extent of i1
    const int first = 1024 * blockIdx.x;

    const int64 seed_value = seed[0];
    in_steps<8, 64, 2>(first, n, [&](int i, bool) {
        const int i1 = i % n1;
        const auto x8 = load<8>(x, i);
        const auto r8 = load<8>(r, i1);
        Vec<bfloat16, 8> out8;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int v1 = int(shift_right(random_word(seed_value, 0LL, int64(i | k)), 8LL));
            const float v2 = float(x8[k]) * float(float(v1) * 5.9604645e-08f < s1);
            out8[k] = bfloat16(fmaf(v2, s2, float(r8[k])));
        }
        store(out, i, out8);
    });
}
