// def scaled_silu(x, w):
//     return silu(x) * w
//
// prelude: INGOT_VECTOR expf int64 argument smaller_of bit_cast upper_half bfloat16 to_bfloat16 repeat

// where: n1 = x.size(1)
// requires: x.size(1) == w.size(0)
// requires: x.dtype == bf16, x.dim() == 2, x.is_contiguous()
// requires: w.dtype == bf16, w.dim() == 1, w.is_contiguous()
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x, w)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=scaled_silu, units=x.size(0), args=x, w, out, i64(n1)
extern "C" void scaled_silu(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    const bfloat16* __restrict w = argument<const bfloat16*>(arguments[1]);  // at i1
    bfloat16* __restrict out = argument<bfloat16*>(arguments[2]);            // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                          // extent of i1

    const int64 most = 1024 / n1;
    bfloat16 w_chunk[1024];
    repeat(w, 1, w_chunk, most, n1);
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto out_rows = out + i0 * n1;
#pragma omp simd
        for (int64 i = 0; i < rows * n1; ++i) {
            const float v1 = float(x_rows[i]);
            out_rows[i] = to_bfloat16(v1 / (1.0f + expf(-v1)) * float(w_chunk[i]));
        }
        i0 += rows;
    }
}
