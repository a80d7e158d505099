// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r
//
// prelude: int64 uint32 uint64 Vec load store is_below_zero shift_right philox_round philox random_word

// where: n = x.size(0)*x.size(1), n1 = x.size(0), position_stride1 = x.size(1)
// requires: x.size(0) == r.size(0), x.size(1) == r.size(1), 0 <= p, p <= 1, p != 0
// requires: x.dtype == f32, x.dim() == 2, x.stride(0) == 1, aligned(x, 16)
// requires: r.dtype == f32, r.dim() == 2, r.stride(0) == 1, aligned(r, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.stride(0) == 1,
//   aligned(out, 16)
// requires: no_overlap(out, x, r)
// requires: x.stride(1) == n1, r.stride(1) == n1, out.stride(1) == n1, 1 <= n <= 2147418111,
//   x.size(0) + x.size(1)*x.stride(1) - x.stride(1) <= 2147483647,
//   x.size(0) + x.size(1)*r.stride(1) - r.stride(1) <= 2147483647,
//   x.size(0) + x.size(1)*out.stride(1) - out.stride(1) <= 2147483647, n1 % 4 == 0
// scratch: seed = zeros(i64, 1)
// launch: entry=dropout, grid=ceil(n / 512), block=128, args=x, r, seed, 1 - p, 1 / (1 - p + (p == 1)), out, n, n1,
//   position_stride1
extern "C" __global__ void __launch_bounds__(128) dropout(
        const float* __restrict__ x,     // contiguous
        const float* __restrict__ r,     // contiguous
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        float* __restrict__ out,         // contiguous
        const int n,                     // elements
        const uint32 n1,                 // extent of i1
        const int position_stride1) {
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    const auto x4 = load<4>(x, i);
    const auto r4 = load<4>(r, i);
    const int64 seed_value = seed[0];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int64 v1 = int64(i0 + (i1 + k) * position_stride1);
        const float v2 = float(int(shift_right(random_word(seed_value, 0LL, v1), 8LL)));
        out4[k] = x4[k] * float(v2 * 5.9604645e-08f < s1) * s2 + r4[k];
    }
    store(out, i, out4);
}
