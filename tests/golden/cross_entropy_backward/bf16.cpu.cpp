// def loss(logits, target):
//     return F.cross_entropy(logits, target)
//
// prelude: int64 argument smaller_of bit_cast upper_half bfloat16 to_bfloat16 inf fused significand_of_exp decay_of add maximum Sum Largest Whole Part over will_write in_pieces combined combined_choice

// where: n0 = logits.size(0)
// requires: logits.size(1) > 0 or logits.size(0) == 0, target.size(0) == logits.size(0)
// requires: target.dtype == i64, target.dim() == 1, target.is_contiguous()
// requires: 512 < n0 <= 1024, n0 >= 1
// scratch: workspace0 = empty(i64, 1)
// launch: entry=loss_backward, units=1, args=target, workspace0, i64(n0)
extern "C" void loss_backward(const void* const* arguments, int64 begin, int64 end) {
    const int64* __restrict target = argument<const int64*>(arguments[0]);  // contiguous
    int64* __restrict workspace = argument<int64*>(arguments[1]);           // one element
    const int64 n0 = argument<int64>(arguments[2]);                         // extent of i0

    for (int64 row = begin; row < end; ++row) {
        int64 sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0LL;
        }
        in_pieces<64>(0, n0, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const int64 v1 = int64((valid ? target[first + k] : 0LL) != -100LL);
                sum_of[k] = valid ? add(sum_of[k], v1) : sum_of[k];
            });
        });
        const int64 sum = combined<Sum>(sum_of);
        workspace[0] = sum;
    }
}

// where: n1 = logits.size(1)
// requires: logits.dtype == bf16, logits.dim() == 2, logits.is_contiguous()
// requires: target.dtype == i64, target.dim() == 1, target.is_contiguous()
// requires: grad.dtype == bf16, grad.dim() == 0
// requires: out.dtype == bf16, out.dim() == 2, out.size(0) == logits.size(0), out.size(1) == logits.size(1),
//   out.is_contiguous()
// requires: no_overlap(out, logits, target, grad)
// requires: 4096 < n1 <= 8192, logits.size(0)*logits.size(1) >= 1
// launch: entry=loss_backward_1, units=logits.size(0), args=workspace0, logits, target, grad, i64(logits.size(1)), out,
//   i64(n1)
extern "C" void loss_backward_1(const void* const* arguments, int64 begin, int64 end) {
    const int64* __restrict workspace = argument<const int64*>(arguments[0]);     // one element
    const bfloat16* __restrict logits = argument<const bfloat16*>(arguments[1]);  // contiguous
    const int64* __restrict target = argument<const int64*>(arguments[2]);        // at row
    const bfloat16* __restrict grad = argument<const bfloat16*>(arguments[3]);    // one element
    const int64 s1 = argument<int64>(arguments[4]);                               // logits.size(1)
    bfloat16* __restrict out = argument<bfloat16*>(arguments[5]);                 // contiguous
    const int64 n1 = argument<int64>(arguments[6]);                               // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto logits_row = logits + row * n1;
        float largest_of[64];
        for (int c = 0; c < 64; ++c) {
            largest_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 logits_k = valid ? logits_row[first + k] : bfloat16();
                largest_of[k] = valid ? maximum(float(logits_k), largest_of[k]) : largest_of[k];
            });
        });
        const float largest = combined_choice<Largest>(largest_of);
        float value_of[8192];
        const auto out_row = out + row * n1;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                will_write(out_row + first, count);
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const bfloat16 logits_k_1 = valid ? logits_row[first + k] : bfloat16();
                    const float v1 = decay_of(float(logits_k_1) - largest);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v1 : sum_of_chunk_of[k];
                    value_of[first + k] = v1;
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const int64 target_value = target[row];
        const bool v2 = target_value != -100LL;
        const int64 v3 = v2 ? target_value : 0LL;
        const int64 v4 = v3 < 0LL ? 9223372036854775807LL : v3;
        const int64 v5 = add(v4, s1);
        const int64 v6 = v4 < 0LL ? (v5 < 0LL ? 9223372036854775807LL : v5) : v4;
        const bfloat16 grad_value = grad[0];
        const float v7 = float(grad_value) / float(workspace[0]);
        const float v8 = v2 ? -v7 : 0.0f;
        const float v9 = v2 ? v7 / sum : 0.0f;
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float v10 = (first + k == v6 ? v8 : 0.0f) + v9 * value_of[first + k];
                const bfloat16 v11 = to_bfloat16(v10);
                if (valid) {
                    out_row[first + k] = v11;
                }
            });
        });
    }
}
