// def embed(weight, token, position):
//     return weight[token] + position

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

// An index into n elements: negative ones count from the end; the result is always within the
// tensor. An index out of range sets `bad` to its code.
inline int64 check_index(int64 index, int64 n, int& bad, int code) {
    bad = ((index < -n) | (index >= n)) ? code : bad;
    const int64 wrapped = index < 0 ? index + n : index;
    const int64 most = wrapped < n ? wrapped : n - 1;
    return most < 0 ? 0 : most;
}

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

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

extern "C" void embed(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict weight = argument<const float16*>(arguments[0]);    // at i2 + index * weight_step
    const int64* __restrict token = argument<const int64*>(arguments[1]);         // at i0 * token_stride0 + i1
    const float16* __restrict position = argument<const float16*>(arguments[2]);  // at i1 * position_stride1 + i2
    float16* __restrict out = argument<float16*>(arguments[3]);                   // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                               // extent of i1
    const int64 n2 = argument<int64>(arguments[5]);                               // extent of i2
    const int64 token_stride0 = argument<int64>(arguments[6]);
    const int64 weight_size = argument<int64>(arguments[7]);
    const int64 weight_step = argument<int64>(arguments[8]);
    const int64 position_stride1 = argument<int64>(arguments[9]);
    int* status = argument<int*>(arguments[10]);                                  // error code

    int bad = 0;
    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const int64 i0 = i / n2 / n1;
        const auto token_row = token + i0 * token_stride0 + i1;
        const auto position_row = position + i1 * position_stride1;
        const auto out_row = out + row;
        const int64 token_wrapped = check_index(token_row[0], weight_size, bad, 2);
        in_pieces<256>(first, last, [&](int64 start, auto count) __attribute__((always_inline)) {
            float position_piece[256], out_piece[256];
            to_floats(position_row + start, position_piece, count);
#pragma omp simd
            for (int64 i2 = start; i2 < start + count; ++i2) {
                const float v1 = float(weight[i2 + token_wrapped * weight_step]);
                out_piece[i2 - start] = v1 + position_piece[i2 - start];
            }
            from_floats(out_piece, out_row + start, count);
        });
        i += last - first;
    }
    if (bad != 0) {
        *status = bad;
    }
}
