// def bias_gelu(x, b, r):
//     return F.gelu(x + b) + r

// Marks functions of the C library that have vector forms (glibc's libmvec), within 4 ulp.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INGOT_VECTOR __attribute__((simd("notinbranch"), const))
#else
#define INGOT_VECTOR
#endif

// Within 1.7 ulp; the library's vector form is within 4 and slower. Fitted to erf(a) / a up to 1,
// and to erfc(a) from there to where erf(a) rounds to 1.
#if defined(__FMA__) || defined(__aarch64__)
inline float erff(float a) {
    const float size = __builtin_fabsf(a), s = a * a;
    float near = -0.000565410592f;
    near = __builtin_fmaf(near, s, 0.00492327753f);
    near = __builtin_fmaf(near, s, -0.026716385f);
    near = __builtin_fmaf(near, s, 0.112803645f);
    near = __builtin_fmaf(near, s, -0.376123488f);
    near = __builtin_fmaf(near, s, 0.128379121f);
    near = __builtin_fmaf(near, a, a);
    const float d = (size > 3.94f ? 3.94f : size) - 2.5f;
    float far = 8.70944041e-06f;
    far = __builtin_fmaf(far, d, -2.14060092e-05f);
    far = __builtin_fmaf(far, d, -5.9413811e-05f);
    far = __builtin_fmaf(far, d, 0.000280871929f);
    far = __builtin_fmaf(far, d, -0.000291999429f);
    far = __builtin_fmaf(far, d, -0.000574202684f);
    far = __builtin_fmaf(far, d, 0.00282375421f);
    far = __builtin_fmaf(far, d, -0.00610002549f);
    far = __builtin_fmaf(far, d, 0.0086127799f);
    far = __builtin_fmaf(far, d, -0.00835432485f);
    far = __builtin_fmaf(far, d, 0.00544707011f);
    far = __builtin_fmaf(far, d, -0.00217797933f);
    far = __builtin_fmaf(far, d, 0.000406920648f);
    far = __builtin_copysignf(1.0f - far, a);
    return size > 1.0f ? far : near;
}
#else
extern "C" INGOT_VECTOR float erff(float) noexcept;
#endif

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

extern "C" void bias_gelu_backward(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);     // at row + (first + k) * x_stride1
    const bfloat16* __restrict b = argument<const bfloat16*>(arguments[1]);     // at row
    const bfloat16* __restrict grad = argument<const bfloat16*>(arguments[2]);  // at row + (first + k) * grad_stride1
    bfloat16* __restrict out0 = argument<bfloat16*>(arguments[3]);              // at row + (first + k) * out0_stride1
    bfloat16* __restrict out1 = argument<bfloat16*>(arguments[4]);              // at row
    const int64 n1 = argument<int64>(arguments[5]);                             // extent of i1
    const int64 grad_stride1 = argument<int64>(arguments[6]);
    const int64 x_stride1 = argument<int64>(arguments[7]);
    const int64 out0_stride1 = argument<int64>(arguments[8]);

    for (int64 row = begin; row < end; ++row) {
        const auto grad_row = grad + row;
        const auto x_row = x + row;
        const bfloat16 b_value = b[row];
        const float v1 = float(b_value);
        const auto out0_row = out0 + row;
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
                    const bfloat16 grad_k = valid ? grad_row[(first + k) * grad_stride1] : bfloat16();
                    const bfloat16 x_k = valid ? x_row[(first + k) * x_stride1] : bfloat16();
                    const float v2 = float(x_k) + v1;
                    const float v3 = v2 * (exp_of(-0.5f * v2 * v2) * 0.3989423f);
                    const float v4 = float(grad_k) * (0.5f * (1.0f + erff(v2 * 0.70710677f)) + v3);
                    const bfloat16 v5 = to_bfloat16(v4);
                    sum_of_chunk_of[k] = valid ? sum_of_chunk_of[k] + v4 : sum_of_chunk_of[k];
                    if (valid) {
                        out0_row[(first + k) * out0_stride1] = v5;
                    }
                });
            });
            const float sum_of_chunk = combined<Sum>(sum_of_chunk_of);
            sum_of[chunk % 64] = sum_of[chunk % 64] + sum_of_chunk;
        }
        const float sum = combined<Sum>(sum_of);
        out1[row] = to_bfloat16(sum);
    }
}
