// def embed(weight, token, position):
//     return weight[token] + position
//
// prelude: int64 uint32 float16 Vec load store wrap_index

// where: n = weight.size(1)*token.size(0)*token.size(1), n1 = token.size(1), n2 = weight.size(1),
//   token_stride0 = token.size(1), weight_size = weight.size(0), weight_step = weight.size(1),
//   position_stride1 = weight.size(1)
// requires: weight.size(0) > 0 or token.size(0)*token.size(1) == 0, weight.size(1) == position.size(1),
//   token.size(1) == position.size(0)
// requires: weight.dtype == f16, weight.dim() == 2, weight.is_contiguous(), aligned(weight, 16)
// requires: token.dtype == i64, token.dim() == 2, token.is_contiguous(), aligned(token, 16)
// requires: position.dtype == f16, position.dim() == 2, position.is_contiguous(), aligned(position, 16)
// requires: out.dtype == f16, out.dim() == 3, out.size(0) == token.size(0), out.size(1) == token.size(1),
//   out.size(2) == weight.size(1), out.is_contiguous(), aligned(out, 16)
// requires: no_overlap(out, weight, token, position)
// requires: 1 <= n <= 2147418111, weight.size(0)*weight.size(1) <= 2147483647, n2 % 8 == 0, n1 % 2 == 0
// launch: entry=embed, grid=ceil(n / 2048), block=256, args=weight, token, position, out, n, n1, n2, n1, weight_size,
//   n2, n2
extern "C" __global__ void __launch_bounds__(256) embed(
        const float16* __restrict__ weight,    // at i2 + index * weight_step
        const int64* __restrict__ token,       // at i0 * token_stride0 + i1
        const float16* __restrict__ position,  // at i1 * position_stride1 + i2
        float16* __restrict__ out,             // contiguous
        const int n,                           // elements
        const uint32 n1,                       // extent of i1
        const uint32 n2,                       // extent of i2
        const int token_stride0,
        const int weight_size,
        const int weight_step,
        const int position_stride1) {
    const int i = 8 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i2 = i % n2;
    const int i1 = i / n2 % n1;
    const int i0 = i / n2 / n1;

    const auto position8 = load<8>(position, i1 * position_stride1 + i2);
    const int token_wrapped = wrap_index(token[i0 * token_stride0 + i1], weight_size);
    const auto weight8 = load<8>(weight, i2 + token_wrapped * weight_step);
    Vec<float16, 8> out8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        out8[k] = float16(float(weight8[k]) + float(position8[k]));
    }
    store(out, i, out8);
}
