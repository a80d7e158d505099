// def swiglu(x):
//     gate, value = x.chunk(2, -1)
//     return F.silu(gate) * value
//
// prelude: INGOT_VECTOR expf int64 argument smaller_of bit_cast upper_half bfloat16 to_bfloat16

// requires: x.size(0) == grad.size(0), x.size(1) == 1024, grad.size(1) == 512
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous()
// requires: grad.dtype == bf16, grad.dim() == 2, grad.is_contiguous()
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == 1024, out.is_contiguous()
// requires: no_overlap(out, x, grad)
// requires: x.size(0)*512 >= 1
// launch: entry=swiglu_backward, units=x.size(0)*512, args=x + 512, x, grad, out, out + 512, i64(512), i64(1024),
//   i64(1024)
extern "C" void swiglu_backward(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x_512 = argument<const bfloat16*>(arguments[0]);  // at i0 * x_stride0 + i1
    const bfloat16* __restrict x_0 = argument<const bfloat16*>(arguments[1]);    // at i0 * x_stride0 + i1
    const bfloat16* __restrict grad = argument<const bfloat16*>(arguments[2]);   // contiguous
    bfloat16* __restrict out_0 = argument<bfloat16*>(arguments[3]);              // at i0 * out_stride0 + i1
    bfloat16* __restrict out_512 = argument<bfloat16*>(arguments[4]);            // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[5]);                              // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[6]);
    const int64 out_stride0 = argument<int64>(arguments[7]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto grad_row = grad + row;
        const auto x_512_row = x_512 + i0 * x_stride0;
        const auto x_0_row = x_0 + i0 * x_stride0;
        const auto out_0_row = out_0 + i0 * out_stride0;
        const auto out_512_row = out_512 + i0 * out_stride0;
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            const float v1 = float(grad_row[i1]);
            const bfloat16 value = x_512_row[i1];
            const bfloat16 gate = x_0_row[i1];
            const float v2 = float(gate);
            const float v3 = 1.0f + expf(-v2);
            const float v4 = 1.0f / v3;
            out_0_row[i1] = to_bfloat16(v1 * float(value) * v4 * (v2 * (1.0f - v4) + 1.0f));
            out_512_row[i1] = to_bfloat16(v1 * (v2 / v3));
        }
        i += last - first;
    }
}
