// def causal(x):
//     return x.tril() * 2
//
// prelude: int64 uint32 Vec load store

// where: n = x.size(0)*x.size(1)*x.size(2), n1 = x.size(1), n2 = x.size(2)
// requires: x.dtype == f32, x.dim() == 3, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 3, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 1 <= n <= 2147418111, n2 % 8 == 0
// launch: entry=causal, grid=ceil(n / 1024), block=256, args=x, out, n, n1, n2
extern "C" __global__ void __launch_bounds__(256) causal(
        const float* __restrict__ x,  // contiguous
        float* __restrict__ out,      // contiguous
        const int n,                  // elements
        const uint32 n1,              // extent of i1
        const uint32 n2) {            // extent of i2
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i2 = i % n2;
    const int i1 = i / n2 % n1;

    const auto x4 = load<4>(x, i);
    const int64 v1 = int64(i1);
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out4[k] = (int64(i2 + k) > v1 ? 0.0f : x4[k]) * 2.0f;
    }
    store(out, i, out4);
}
