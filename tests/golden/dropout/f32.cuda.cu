// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r
//
// prelude: int64 uint64 Vec load store load_until store_until is_below_zero shift_right philox_round philox random_word

// where: n = x.size(0)*x.size(1)*x.size(2)
// requires: x.size(0) == r.size(0), x.size(1) == r.size(1), x.size(2) == r.size(2), 0 <= p, p <= 1, p != 0
// requires: x.dtype == f32, x.dim() == 3, x.is_contiguous(), aligned(x, 16)
// requires: r.dtype == f32, r.dim() == 3, r.is_contiguous(), aligned(r, 16)
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x, r)
// requires: 1 <= n <= 2147418111
// scratch: seed = zeros(i64, 1)
// launch: entry=dropout, grid=ceil(n / 512), block=128, args=x, r, seed, 1 - p, 1 / (1 - p + (p == 1)), out, n
extern "C" __global__ void __launch_bounds__(128) dropout(
        const float* __restrict__ x,     // contiguous
        const float* __restrict__ r,     // contiguous
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        float* __restrict__ out,         // contiguous
        const int n) {                   // elements
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, r4;
    if (whole) {
        x4 = load<4>(x, i);
        r4 = load<4>(r, i);
    } else {
        x4 = load_until<4>(x, i, n);
        r4 = load_until<4>(r, i, n);
    }
    const int64 seed_value = seed[0];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int v1 = int(shift_right(random_word(seed_value, 0LL, int64(i | k)), 8LL));
        out4[k] = x4[k] * float(float(v1) * 5.9604645e-08f < s1) * s2 + r4[k];
    }
    if (whole) {
        store(out, i, out4);
    } else {
        store_until(out, i, n, out4);
    }
}
