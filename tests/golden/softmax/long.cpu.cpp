// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// __builtin_bit_cast takes only trivially copyable types.
template <typename To, typename From>
inline To bit_cast(From from) {
    To to;
    __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(To));
    return to;
}

constexpr float inf = __builtin_inff();

// a b + c, rounded once if the processor can.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// e^x / 2^n, where n is the integer nearest to x / log(2). The coefficients are from Cephes
// (Stephen L. Moshier, 1992).
inline float significand_of_exp(float x, float n) {
    const float r = fused(n, 2.12194440e-4f, fused(n, -0.693359375f, x));
    float p = 1.9875691500e-4f;
    p = fused(p, r, 1.3981999507e-3f);
    p = fused(p, r, 8.3334519073e-3f);
    p = fused(p, r, 4.1665795894e-2f);
    p = fused(p, r, 1.6666665459e-1f);
    p = fused(p, r, 5.0000001201e-1f);
    return fused(p, r * r, r) + 1.0f;
}

// e^a where a is not above 0, or is NaN, with the same bits as exp_of. One more product keeps the
// exponent from underflowing.
inline float decay_of(float a) {
    const float x = a < -104.0f ? -104.0f : a;
    const float shifted = fused(x, 1.44269504f, 12583064.0f);  // its last bits are n + 25 + 127
    const float p = significand_of_exp(x, shifted - 12583064.0f);
    return p * bit_cast<float>(bit_cast<unsigned>(shifted) << 23) * 0x1p-25f;
}

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

struct Sum {
    template <typename T>
    static inline T of(T a, T b) {
        return a + b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// NaN if either is NaN; a if they are equal.
struct Largest {
    template <typename T>
    static inline T of(T a, T b) {
        return a > b ? a : b;
    }
    static inline float of(float a, float b) { return maximum(b, a); }
    static inline double of(double a, double b) { return maximum(b, a); }
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

// As `combined`, for a reduction that selects one of two values. The last two are combined in both
// orders, as a vector: for single numbers GCC would make a branch, mispredicted for half of the
// rows.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined_choice(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else if constexpr (n == 2) {
        T both[4];
#pragma omp simd
        for (int k = 0; k < 4; ++k) both[k] = Kind::of(classes[k & 1], classes[1 - (k & 1)]);
        return both[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined_choice<Kind>(half);
    }
}

extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float m_of[64];
        for (int c = 0; c < 64; ++c) {
            m_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                m_of[k] = valid ? maximum(valid ? x_row[first + k] : 0.0f, m_of[k]) : m_of[k];
            });
        });
        const float m = combined_choice<Largest>(m_of);
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
                    const float e = decay_of((valid ? x_row[first + k] : 0.0f) - m);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + e : sum_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        const auto out_row = out + row * n1;
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float e = decay_of((valid ? x_row[first + k] : 0.0f) - m);
                const float v1 = e / sum;
                if (valid) {
                    out_row[first + k] = v1;
                }
            });
        });
    }
}
