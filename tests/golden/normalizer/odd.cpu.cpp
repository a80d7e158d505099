// def normalizer(x):
//     return x.logsumexp(-1)

extern "C" float fabsf(float) noexcept;

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

// The upper 16 bits of a float32, rounded to nearest even. The float must not be a NaN, unless its
// lower 16 bits are zeros.
inline unsigned upper_half(unsigned wide) { return (wide + 0x7fff + (wide >> 16 & 1)) >> 16; }

// Rounds to nearest even; NaN stays NaN. The copies are written out, as in float16.
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    bfloat16(const bfloat16& other) : bits(other.bits) {}
    explicit bfloat16(float value) {
        const unsigned rounded = upper_half(bit_cast<unsigned>(value));
        bits = (unsigned short)(value != value ? 0x7fc0 : rounded);
    }
    bfloat16& operator=(const bfloat16& other) {
        bits = other.bits;
        return *this;
    }
    operator float() const { return bit_cast<float>(unsigned(bits) << 16); }
};

// Conversion of a value that is computed from bfloat16 alone: its NaNs end in 16 zero bits, and
// stay NaN.
inline bfloat16 to_bfloat16(float value) {
    bfloat16 result;
    result.bits = (unsigned short)upper_half(bit_cast<unsigned>(value));
    return result;
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

// e^a with the same bits for a single number and in vectors of any width; within 1.01 ulp, where
// the library's vector form is within 2.6.
inline float exp_of(float a) {
    const float above = a < -104.0f ? -104.0f : a, x = above > 89.0f ? 89.0f : above;
    const float shifted = fused(x, 1.44269504f, 12583166.0f);  // its last bits are n + 2 * 127
    const unsigned both = bit_cast<unsigned>(shifted), half = both >> 1;  // two biased exponents
    const float p = significand_of_exp(x, shifted - 12583166.0f);
    return p * bit_cast<float>(half << 23) * bit_cast<float>((both - half) << 23);
}

// log(a) with the same bits for a single number and in vectors of any width; within 0.81 ulp, where
// the library's vector form is within 4. Conditions are bit masks, of which GCC makes no branches.
inline float log_of(float a) {
    const unsigned bits = bit_cast<unsigned>(a);
    const int subnormal = int(bits - 0x00800000u) >> 31;
    const float normal = a * bit_cast<float>(0x3f800000 + (subnormal & 0x0b800000));
    const int from_root = bit_cast<int>(normal) - 0x3f3504f3;  // the bits of sqrt(1/2)
    const float n = float((from_root >> 23) + (subnormal & -23));
    const float r = bit_cast<float>((from_root & 0x7fffff) + 0x3f3504f3) - 1.0f, z = r * r;
    float p = 7.0376836292e-2f;
    p = fused(p, r, -1.1514610310e-1f);
    p = fused(p, r, 1.1676998740e-1f);
    p = fused(p, r, -1.2420140846e-1f);
    p = fused(p, r, 1.4249322787e-1f);
    p = fused(p, r, -1.6668057665e-1f);
    p = fused(p, r, 2.0000714765e-1f);
    p = fused(p, r, -2.4999993993e-1f);
    p = fused(p, r, 3.3333331174e-1f);
    p = fused(z, -0.5f, fused(n, -2.12194440e-4f, p * r * z));
    const float result = fused(n, 0.693359375f, r + p);
    const unsigned zero = -unsigned(bits << 1 == 0), negative = unsigned(int(bits) >> 31);
    const unsigned edge =
        (zero & 0xff800000) | (~zero & ((negative & 0x7fc00000) | (~negative & bits)));
    const unsigned ordinary = -unsigned(bits - 1 < 0x7f7fffff);
    return bit_cast<float>((ordinary & bit_cast<unsigned>(result)) | (~ordinary & edge));
}

inline int negative(int a) { return int(0u - unsigned(a)); }

inline int64 negative(int64 a) { return int64(0ull - (unsigned long long)a); }

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

extern "C" void normalizer(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    bfloat16* __restrict out = argument<bfloat16*>(arguments[1]);            // at row
    const int64 n1 = argument<int64>(arguments[2]);                          // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float largest_of[64];
        for (int c = 0; c < 64; ++c) {
            largest_of[c] = -inf;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const bfloat16 x_k = valid ? x_row[first + k] : bfloat16();
                largest_of[k] = valid ? maximum(float(x_k), largest_of[k]) : largest_of[k];
            });
        });
        const float largest = combined_choice<Largest>(largest_of);
        const float v1 = fabsf(largest) == inf ? 3.3895314e+38f : largest;
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
                    const bfloat16 x_k_1 = valid ? x_row[first + k] : bfloat16();
                    const float v2 = exp_of(float(x_k_1) - v1);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v2 : sum_of_chunk_of[k];
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        out[row] = to_bfloat16(log_of(sum) + v1);
    }
}
