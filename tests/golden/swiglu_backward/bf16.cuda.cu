// def swiglu(x):
//     gate, value = x.chunk(2, -1)
//     return F.silu(gate) * value
//
// prelude: uint32 bfloat16 Vec load store

// where: n = x.size(0)*512
// requires: x.size(0) == grad.size(0), x.size(1) == 1024, grad.size(1) == 512
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous(), aligned(x + 512, 16), aligned(x, 16)
// requires: grad.dtype == bf16, grad.dim() == 2, grad.is_contiguous(), aligned(grad, 16)
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == 1024, out.is_contiguous(),
//   aligned(out, 16), aligned(out + 512, 16)
// requires: no_overlap(out, x, grad)
// requires: 1 <= n <= 2147418111, x.size(0)*1024 - 512 <= 2147483647
// launch: entry=swiglu_backward, grid=ceil(n / 1024), block=128, args=x + 512, x, grad, out, out + 512, n, 512, 1024,
//   1024
extern "C" __global__ void __launch_bounds__(128) swiglu_backward(
        const bfloat16* __restrict__ x_512,  // at i0 * x_stride0 + i1
        const bfloat16* __restrict__ x_0,    // at i0 * x_stride0 + i1
        const bfloat16* __restrict__ grad,   // contiguous
        bfloat16* __restrict__ out_0,        // at i0 * out_stride0 + i1
        bfloat16* __restrict__ out_512,      // at i0 * out_stride0 + i1
        const int n,                         // elements
        const uint32 n1,                     // extent of i1
        const int x_stride0,
        const int out_stride0) {
    const int i = 8 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    const auto grad8 = load<8>(grad, i);
    const auto x_512_8 = load<8>(x_512, i0 * x_stride0 + i1);
    const auto x_0_8 = load<8>(x_0, i0 * x_stride0 + i1);
    Vec<bfloat16, 8> out_0_8, out_512_8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float v1 = float(grad8[k]);
        const float v2 = float(x_0_8[k]);
        const float v3 = 1.0f + expf(-v2);
        const float v4 = 1.0f / v3;
        out_0_8[k] = bfloat16(v1 * float(x_512_8[k]) * v4 * fmaf(v2, 1.0f - v4, 1.0f));
        out_512_8[k] = bfloat16(v1 * (v2 / v3));
    }
    store(out_0, i0 * out_stride0 + i1, out_0_8);
    store(out_512, i0 * out_stride0 + i1, out_512_8);
}
