// def scaled_silu(x, w):
//     return silu(x) * w
//
// prelude: uint32 bfloat16 Vec load store in_steps

// where: n = x.size(0)*x.size(1), n1 = x.size(1)
// requires: x.size(1) == w.size(0)
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: w.dtype == bf16, w.dim() == 1, w.is_contiguous(), aligned(w, 16)
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x, w)
// requires: 1 <= n <= 2147418111, n1 % 8 == 0
// launch: entry=scaled_silu, grid=ceil(n / 1024), block=64, args=x, w, out, n, n1
extern "C" __global__ void __launch_bounds__(64) scaled_silu(
        const bfloat16* __restrict__ x,  // contiguous
        const bfloat16* __restrict__ w,  // at i1
        bfloat16* __restrict__ out,      // contiguous
        const int n,                     // elements
        const uint32 n1) {               // extent of i1
    const int first = 1024 * blockIdx.x;

    in_steps<8, 64, 2>(first, n, [&](int i, bool) {
        const int i1 = i % n1;
        const auto x8 = load<8>(x, i);
        const auto w8 = load<8>(w, i1);
        Vec<bfloat16, 8> out8;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float v1 = float(x8[k]);
            out8[k] = bfloat16(v1 / (1.0f + expf(-v1)) * float(w8[k]));
        }
        store(out, i, out8);
    });
}
