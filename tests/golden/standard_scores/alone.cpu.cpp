// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)
//
// prelude: sqrtf int64 argument smaller_of Sum Whole Part over in_pieces combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: 4096 < n0 <= 8192, n0 >= 1
// launch: entry=standard_scores, units=1, args=x, f32(float(x.size(0)*x.size(1))), out, i64(n0)
extern "C" void standard_scores(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float s1 = argument<float>(arguments[1]);                    // float(x.size(0)*x.size(1))
    float* __restrict out = argument<float*>(arguments[2]);            // contiguous
    const int64 n0 = argument<int64>(arguments[3]);                    // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n0);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float x_k = valid ? x[first + k] : 0.0f;
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + x_k : sum_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const float v1 = sum / s1;
        float sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0.0f;
        }
        for (int64 chunk_1 = 0; chunk_1 < (n0 + 1023) / 1024; ++chunk_1) {
            const int64 from_1 = chunk_1 * 1024;
            const int64 to_1 = smaller_of(from_1 + 1024, n0);
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from_1, to_1, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float d = (valid ? x[first + k] : 0.0f) - v1;
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + d * d : sum_1_of_chunk_of[k];
                });
            });
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            sum_1_of[chunk_1 % 64] = sum_1_of[chunk_1 % 64] + sum_1_of_chunk;
        }
        const float sum_1 = combined<Sum>(sum_1_of);
        const float v2 = 1.0f / sqrtf(sum_1 / s1 + 1e-06f);
        in_pieces<64>(0, n0, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float d = (valid ? x[first + k] : 0.0f) - v1;
                const float v3 = d * v2;
                if (valid) {
                    out[first + k] = v3;
                }
            });
        });
    }
}
