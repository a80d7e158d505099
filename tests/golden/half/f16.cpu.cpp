// def scaled_silu(x, w):
//     return silu(x) * w

// Marks functions of the C library that have vector forms (glibc's libmvec), within 4 ulp.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INGOT_VECTOR __attribute__((simd("notinbranch"), const))
#else
#define INGOT_VECTOR
#endif

extern "C" INGOT_VECTOR float expf(float) noexcept;

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

// Uses integer operations, which every compiler vectorises. The product adjusts the exponent, of
// denormals too.
inline float half_to_float(unsigned short half) {
    const unsigned magnitude = half & 0x7fffu;
    const unsigned top_bit = (half & 0x8000u) << 16;
    const float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
    const unsigned special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return bit_cast<float>(bit_cast<unsigned>(scaled) | special | top_bit);
}

// Rounds to nearest even. For denormals, adding 0.5 makes the processor round at the right bit.
inline unsigned short half_from_float(float value) {
    const unsigned bits = bit_cast<unsigned>(value);
    const unsigned magnitude = bits & 0x7fffffffu;
    const unsigned top_bit = bits >> 16 & 0x8000u;
    const unsigned normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    const unsigned small = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    unsigned result = magnitude < 0x38800000u ? small : normal;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return (unsigned short)(result | top_bit);
}

// The copies are written out: GCC does not vectorise a loop that copies a struct as a whole.
struct float16 {
    unsigned short bits;

    float16() = default;
    float16(const float16& other) : bits(other.bits) {}
    explicit float16(float value) : bits(half_from_float(value)) {}
    float16& operator=(const float16& other) {
        bits = other.bits;
        return *this;
    }
    operator float() const { return half_to_float(bits); }
};

// Converts n consecutive float16 by the processor's own instructions, which GCC does not use in
// loops.
inline void to_floats(const float16* from, float* to, int64 n) {
    int64 whole = 0;
#if defined(__AVX512F__)
    typedef short Halves __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(64)));
    whole = n / 16 * 16;
    for (int64 i = 0; i < whole; i += 16) {
        Halves halves;
        __builtin_memcpy(&halves, from + i, sizeof(halves));
        const Floats floats = __builtin_ia32_vcvtph2ps512_mask(halves, Floats{}, -1, 4);
        __builtin_memcpy(to + i, &floats, sizeof(floats));
    }
#elif defined(__F16C__)
    typedef short Halves __attribute__((vector_size(16)));
    typedef float Floats __attribute__((vector_size(32)));
    whole = n / 8 * 8;
    for (int64 i = 0; i < whole; i += 8) {
        Halves halves;
        __builtin_memcpy(&halves, from + i, sizeof(halves));
        const Floats floats = __builtin_ia32_vcvtph2ps256(halves);
        __builtin_memcpy(to + i, &floats, sizeof(floats));
    }
#endif
    for (int64 i = whole; i < n; ++i) to[i] = float(from[i]);
}

// Converts n consecutive floats to float16. Every NaN becomes the NaN that float16's constructor
// makes: only the first mantissa bit is set.
inline void from_floats(const float* from, float16* to, int64 n) {
    int64 whole = 0;
#if defined(__AVX512F__)
    typedef short Halves __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(64)));
    whole = n / 16 * 16;
    for (int64 i = 0; i < whole; i += 16) {
        Floats floats;
        __builtin_memcpy(&floats, from + i, sizeof(floats));
        Halves halves = __builtin_ia32_vcvtps2ph512_mask(floats, 0, Halves{}, -1);
        halves &= ~(((halves & 0x7fff) > 0x7c00) & 0x1ff);
        __builtin_memcpy(static_cast<void*>(to + i), &halves, sizeof(halves));
    }
#elif defined(__F16C__)
    typedef short Halves __attribute__((vector_size(16)));
    typedef float Floats __attribute__((vector_size(32)));
    whole = n / 8 * 8;
    for (int64 i = 0; i < whole; i += 8) {
        Floats floats;
        __builtin_memcpy(&floats, from + i, sizeof(floats));
        Halves halves = __builtin_ia32_vcvtps2ph256(floats, 0);
        halves &= ~(((halves & 0x7fff) > 0x7c00) & 0x1ff);
        __builtin_memcpy(static_cast<void*>(to + i), &halves, sizeof(halves));
    }
#endif
    for (int64 i = whole; i < n; ++i) to[i] = float16(from[i]);
}

// Fills all rows with copies of one row of n elements.
template <typename T, typename To>
inline void repeat(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = To(from[i * stride]);
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}

extern "C" void scaled_silu(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict x = argument<const float16*>(arguments[0]);  // contiguous
    const float16* __restrict w = argument<const float16*>(arguments[1]);  // at i1
    float16* __restrict out = argument<float16*>(arguments[2]);            // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                        // extent of i1

    const int64 most = 1024 / n1;
    float x_chunk[1024], w_chunk[1024], out_chunk[1024];
    repeat(w, 1, w_chunk, most, n1);
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto out_rows = out + i0 * n1;
        to_floats(x_rows, x_chunk, rows * n1);
#pragma omp simd
        for (int64 i = 0; i < rows * n1; ++i) {
            const float x_i = x_chunk[i];
            out_chunk[i] = x_i / (1.0f + expf(-x_i)) * w_chunk[i];
        }
        from_floats(out_chunk, out_rows, rows * n1);
        i0 += rows;
    }
}
