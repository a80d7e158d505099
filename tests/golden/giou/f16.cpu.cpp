// def giou(pred, target):  # boxes: [..., 4]
//     lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
//     w, h = (rb - lt).clamp(min=0).unbind(-1)
//     overlap = w * h
//     pw, ph = (pred[..., 2:] - pred[..., :2]).unbind(-1)
//     tw, th = (target[..., 2:] - target[..., :2]).unbind(-1)
//     union = pw * ph + tw * th - overlap
//     hull_lt = minimum(pred[..., :2], target[..., :2])
//     hull_rb = maximum(pred[..., 2:], target[..., 2:])
//     cw, ch = (hull_rb - hull_lt).unbind(-1)
//     hull = cw * ch
//     return overlap / union - (hull - union) / hull

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

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

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T minimum(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
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

extern "C" void giou(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict pred = argument<const float16*>(arguments[0]);    // at i * 4 + 0..3
    const float16* __restrict target = argument<const float16*>(arguments[1]);  // at i * 4 + 0..3
    float16* __restrict out = argument<float16*>(arguments[2]);                 // contiguous

    in_pieces<256>(begin, end, [&](int64 start, auto count) __attribute__((always_inline)) {
        float out_piece[256];
#pragma omp simd
        for (int64 i = start; i < start + count; ++i) {
            const float v1 = float(pred[i * 4 + 2]);
            const float v2 = float(target[i * 4 + 2]);
            const float rb = minimum(v1, v2);
            const float v3 = float(pred[i * 4]);
            const float v4 = float(target[i * 4]);
            const float lt = maximum(v3, v4);
            const float w = maximum(0.0f, rb - lt);
            const float v5 = float(pred[i * 4 + 3]);
            const float v6 = float(target[i * 4 + 3]);
            const float rb_1 = minimum(v5, v6);
            const float v7 = float(pred[i * 4 + 1]);
            const float v8 = float(target[i * 4 + 1]);
            const float lt_1 = maximum(v7, v8);
            const float h = maximum(0.0f, rb_1 - lt_1);
            const float overlap = w * h;
            const float pw = v1 - v3;
            const float ph = v5 - v7;
            const float tw = v2 - v4;
            const float th = v6 - v8;
            const float union_ = pw * ph + tw * th - overlap;
            const float hull_rb = maximum(v1, v2);
            const float hull_lt = minimum(v3, v4);
            const float cw = hull_rb - hull_lt;
            const float hull_rb_1 = maximum(v5, v6);
            const float hull_lt_1 = minimum(v7, v8);
            const float ch = hull_rb_1 - hull_lt_1;
            const float hull = cw * ch;
            out_piece[i - start] = overlap / union_ - (hull - union_) / hull;
        }
        from_floats(out_piece, out + start, count);
    });
}
