// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

extern "C" float fmaf(float, float, float) noexcept;

using int64 = long long;

using uint64 = unsigned long long;

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

template <typename T>
inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
inline T shift_right(T a, T b) {
    constexpr T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

inline void philox_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned key0,
                         unsigned key1) {
    const uint64 first = uint64(0xD2511F53u) * a, second = uint64(0xCD9E8D57u) * c;
    a = unsigned(second >> 32) ^ b ^ key0;
    b = unsigned(second);
    c = unsigned(first >> 32) ^ d ^ key1;
    d = unsigned(first);
}

// Replaces the counter a, b, c, d (lowest word first) by four random words.
inline void philox(unsigned& a, unsigned& b, unsigned& c, unsigned& d, uint64 key) {
    constexpr unsigned step0 = 0x9E3779B9u, step1 = 0xBB67AE85u;
    const unsigned key0 = unsigned(key), key1 = unsigned(key >> 32);
    philox_round(a, b, c, d, key0, key1);
    philox_round(a, b, c, d, key0 + step0, key1 + step1);
    philox_round(a, b, c, d, key0 + step0 * 2, key1 + step1 * 2);
    philox_round(a, b, c, d, key0 + step0 * 3, key1 + step1 * 3);
    philox_round(a, b, c, d, key0 + step0 * 4, key1 + step1 * 4);
    philox_round(a, b, c, d, key0 + step0 * 5, key1 + step1 * 5);
    philox_round(a, b, c, d, key0 + step0 * 6, key1 + step1 * 6);
    philox_round(a, b, c, d, key0 + step0 * 7, key1 + step1 * 7);
    philox_round(a, b, c, d, key0 + step0 * 8, key1 + step1 * 8);
    philox_round(a, b, c, d, key0 + step0 * 9, key1 + step1 * 9);
}

// Random word `place` of the stream `draw`. Four adjacent words share one counter: if a thread
// computes all four, the compiler scrambles the counter once.
template <typename T>
inline T random_word(T seed, T draw, T place) {
    const uint64 at = uint64(place), number = uint64(draw);
    unsigned a = unsigned(at >> 2), b = unsigned(at >> 34), c = unsigned(number),
             d = unsigned(number >> 32);
    philox(a, b, c, d, uint64(seed));
    return T((at & 2) != 0 ? (at & 1) != 0 ? d : c : (at & 1) != 0 ? b : a);
}

extern "C" void dropout(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    const bfloat16* __restrict r = argument<const bfloat16*>(arguments[1]);  // at i1
    const int64* __restrict seed = argument<const int64*>(arguments[2]);     // one element
    const float s1 = argument<float>(arguments[3]);                          // 1 - p
    const float s2 = argument<float>(arguments[4]);                          // 1 / (1 - p + (p == 1))
    bfloat16* __restrict out = argument<bfloat16*>(arguments[5]);            // contiguous
    const int64 n1 = argument<int64>(arguments[6]);                          // extent of i1
    const int64 position_stride0 = argument<int64>(arguments[7]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + row;
        const auto out_row = out + row;
        const int64 seed_value = seed[0];
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            const int64 v1 = random_word(seed_value, 0LL, i0 * position_stride0 + i1);
            const float v2 = float(float(int(shift_right(v1, 8LL))) * 5.9604645e-08f < s1);
            out_row[i1] = bfloat16(fmaf(float(x_row[i1]) * v2, s2, float(r[i1])));
        }
        i += last - first;
    }
}
