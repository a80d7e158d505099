// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)
//
// prelude: sqrtf int64 argument smaller_of Sum Whole Part over in_pieces combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: 65536 < n0 <= 131072, n0 >= 1
// scratch: found = empty(f32, ceil(n0 / 1024))
// launch: entry=standard_scores, units=ceil(n0 / 1024), args=x, found, i64(n0)
extern "C" void standard_scores(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* found = argument<float*>(arguments[1]);                     // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);                    // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                sum_of[k] = valid ? sum_of[k] + (valid ? x[first + k] : 0.0f) : sum_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

// where: n0 = x.size(0)*x.size(1)
// scratch: workspace0 = empty(f32, 1)
// launch: entry=standard_scores_rest, units=1, args=f32(float(x.size(0)*x.size(1))), workspace0, found, i64(n0)
extern "C" void standard_scores_rest(const void* const* arguments, int64 begin, int64 end) {
    const float s1 = argument<float>(arguments[0]);                // float(x.size(0)*x.size(1))
    float* __restrict workspace = argument<float*>(arguments[1]);  // one element
    float* found = argument<float*>(arguments[2]);                 // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
        }
        const float sum = combined<Sum>(sum_of);
        workspace[0] = sum / s1;
    }
}

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: 65536 < n0 <= 131072, n0 >= 1
// scratch: found_1 = empty(f32, ceil(n0 / 1024))
// launch: entry=standard_scores_1, units=ceil(n0 / 1024), args=x, workspace0, found_1, i64(n0)
extern "C" void standard_scores_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);          // contiguous
    const float* __restrict workspace = argument<const float*>(arguments[1]);  // one element
    float* found = argument<float*>(arguments[2]);                             // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                            // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        const float workspace_value = workspace[0];
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float d = (valid ? x[first + k] : 0.0f) - workspace_value;
                sum_of[k] = valid ? sum_of[k] + d * d : sum_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

// where: n0 = x.size(0)*x.size(1)
// scratch: workspace1 = empty(f32, 1)
// launch: entry=standard_scores_1_rest, units=1, args=f32(float(x.size(0)*x.size(1))), workspace1, found_1, i64(n0)
extern "C" void standard_scores_1_rest(const void* const* arguments, int64 begin, int64 end) {
    const float s1 = argument<float>(arguments[0]);                  // float(x.size(0)*x.size(1))
    float* __restrict workspace_1 = argument<float*>(arguments[1]);  // one element
    float* found = argument<float*>(arguments[2]);                   // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                  // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
        }
        const float sum = combined<Sum>(sum_of);
        workspace_1[0] = 1.0f / sqrtf(sum / s1 + 1e-06f);
    }
}

// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous()
// requires: no_overlap(out, x)
// requires: x.size(0)*x.size(1) >= 1
// launch: entry=standard_scores_2, units=x.size(0)*x.size(1), args=x, workspace0, workspace1, out
extern "C" void standard_scores_2(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);            // contiguous
    const float* __restrict workspace = argument<const float*>(arguments[1]);    // one element
    const float* __restrict workspace_1 = argument<const float*>(arguments[2]);  // one element
    float* __restrict out = argument<float*>(arguments[3]);                      // contiguous

    const float workspace_value = workspace[0];
    const float workspace_1_value = workspace_1[0];
#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        const float d = x[i] - workspace_value;
        out[i] = d * workspace_1_value;
    }
}
