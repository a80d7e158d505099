// def layer_norm(x, weight, bias):
//     return F.layer_norm(x, (x.shape[-1],), weight, bias)

extern "C" float sqrtf(float) noexcept;

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

struct Sum {
    template <typename T>
    static inline T of(T a, T b) {
        return a + b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// A count known at compile time.
template <int64 n>
struct Whole {
    constexpr operator int64() const { return n; }
};

// A count known at run time that is below n.
template <int64 n>
struct Part {
    int64 number;
    operator int64() const { return number; }
};

// Calls work(k, valid) for each k below the count, vectorised. If the compiler does not know the
// count, and the processor can mask memory accesses, the last vector is computed whole, with
// `valid` false for each k past the count. Each k is then a constant, so values that `work` indexes
// by k stay in registers.
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Whole<n>, const Work& work) {
#pragma omp simd
    for (int64 k = 0; k < n; ++k) work(k, true);
}
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Part<n> count, const Work& work) {
#if defined(__AVX512BW__)
#pragma GCC unroll 64
    for (int from = 0; from < n; from += 16) {
        const int left = int(count) - from;
        if (left <= 0) return;
#pragma omp simd
        for (int k = 0; k < 16; ++k) work(from + k, k < left);
    }
#else
#pragma omp simd
    for (int64 k = 0; k < count; ++k) work(k, true);
#endif
}

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// Combines the accumulators (`classes`) of a row as a tree: each round combines the first half with
// the second half, as vectors.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined<Kind>(half);
    }
}

extern "C" void layer_norm_backward(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);       // contiguous
    const float* __restrict weight = argument<const float*>(arguments[1]);  // at first + k
    const float* __restrict grad = argument<const float*>(arguments[2]);    // contiguous
    const float s1 = argument<float>(arguments[3]);                         // float(x.size(1))
    float* __restrict out0 = argument<float*>(arguments[4]);                // contiguous
    float* __restrict workspace = argument<float*>(arguments[5]);           // at row
    float* __restrict workspace_1 = argument<float*>(arguments[6]);         // at row
    const int64 n1 = argument<int64>(arguments[7]);                         // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
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
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float x_k = valid ? x_row[first + k] : 0.0f;
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
        for (int64 chunk_1 = 0; chunk_1 < (n1 + 1023) / 1024; ++chunk_1) {
            const int64 from_1 = chunk_1 * 1024;
            const int64 to_1 = smaller_of(from_1 + 1024, n1);
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from_1, to_1, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float v2 = (valid ? x_row[first + k] : 0.0f) - v1;
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + v2 * v2 : sum_1_of_chunk_of[k];
                });
            });
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            sum_1_of[chunk_1 % 64] = sum_1_of[chunk_1 % 64] + sum_1_of_chunk;
        }
        const float sum_1 = combined<Sum>(sum_1_of);
        const float v3 = 1.0f / sqrtf(sum_1 / s1 + 1e-05f);
        const float v4 = -0.5f * v3 * v3;
        const auto grad_row = grad + row * n1;
        float sum_2_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_2_of[c] = 0.0f;
        }
        float sum_3_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_3_of[c] = 0.0f;
        }
        for (int64 chunk_2 = 0; chunk_2 < (n1 + 1023) / 1024; ++chunk_2) {
            const int64 from_2 = chunk_2 * 1024;
            const int64 to_2 = smaller_of(from_2 + 1024, n1);
            float sum_2_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_2_of_chunk_of[c] = 0.0f;
            }
            float sum_3_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_3_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from_2, to_2, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float grad_k = valid ? grad_row[first + k] : 0.0f;
                    const float v5 = grad_k * (valid ? weight[first + k] : 0.0f);
                    const float v6 = v4 * (v5 * ((valid ? x_row[first + k] : 0.0f) - v1) * v3) / s1;
                    sum_2_of_chunk_of[k] = valid ? sum_2_of_chunk_of[k] + v6 : sum_2_of_chunk_of[k];
                    const float v7 = -(v5 * v3) / s1;
                    sum_3_of_chunk_of[k] = valid ? sum_3_of_chunk_of[k] + v7 : sum_3_of_chunk_of[k];
                });
            });
            const float sum_2_of_chunk = combined<Sum>(sum_2_of_chunk_of);
            const float sum_3_of_chunk = combined<Sum>(sum_3_of_chunk_of);
            sum_2_of[chunk_2 % 64] = sum_2_of[chunk_2 % 64] + sum_2_of_chunk;
            sum_3_of[chunk_2 % 64] = sum_3_of[chunk_2 % 64] + sum_3_of_chunk;
        }
        const float sum_2 = combined<Sum>(sum_2_of);
        const float sum_3 = combined<Sum>(sum_3_of);
        const float v8 = sum_2 * 2.0f;
        const auto out0_row = out0 + row * n1;
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float grad_k_1 = valid ? grad_row[first + k] : 0.0f;
                const float v9 = grad_k_1 * (valid ? weight[first + k] : 0.0f) * v3;
                const float v10 = v8 * ((valid ? x_row[first + k] : 0.0f) - v1) + v9 + sum_3;
                if (valid) {
                    out0_row[first + k] = v10;
                }
            });
        });
        workspace[row] = sum;
        workspace_1[row] = sum_1;
    }
}

extern "C" void layer_norm_backward_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);            // at row + (first + k) * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);    // at first + k
    const float* __restrict workspace_1 = argument<const float*>(arguments[2]);  // at first + k
    const float* __restrict grad = argument<const float*>(arguments[3]);         // at row + (first + k) * grad_stride1
    const float s1 = argument<float>(arguments[4]);                              // float(x.size(1))
    float* __restrict out1 = argument<float*>(arguments[5]);                     // at row
    float* __restrict out2 = argument<float*>(arguments[6]);                     // at row
    const int64 n1 = argument<int64>(arguments[7]);                              // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[8]);
    const int64 grad_stride1 = argument<int64>(arguments[9]);

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row;
        const auto grad_row = grad + row;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            float sum_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_chunk_of[c] = 0.0f;
            }
            float sum_1_of_chunk_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_1_of_chunk_of[c] = 0.0f;
            }
            in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
                over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                    const float x_k = valid ? x_row[(first + k) * x_stride1] : 0.0f;
                    const float v1 = (valid ? workspace_1[first + k] : 0.0f) / s1 + 1e-05f;
                    const float grad_k = valid ? grad_row[(first + k) * grad_stride1] : 0.0f;
                    const float v2 = x_k - (valid ? workspace[first + k] : 0.0f) / s1;
                    const float v3 = grad_k * (v2 * (1.0f / sqrtf(v1)));
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v3 : sum_of_chunk_of[k];
                    sum_1_of_chunk_of[k] = valid ? sum_1_of_chunk_of[k] + grad_k : sum_1_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            const float sum_1_of_chunk = combined<Sum>(sum_1_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
            sum_1_of[chunk % 64] = sum_1_of[chunk % 64] + sum_1_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const float sum_1 = combined<Sum>(sum_1_of);
        out1[row] = sum;
        out2[row] = sum_1;
    }
}
