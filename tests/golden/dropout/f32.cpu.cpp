// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

using int64 = long long;

using uint64 = unsigned long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

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
    const float* __restrict x = argument<const float*>(arguments[0]);     // contiguous
    const float* __restrict r = argument<const float*>(arguments[1]);     // contiguous
    const int64* __restrict seed = argument<const int64*>(arguments[2]);  // one element
    const float s1 = argument<float>(arguments[3]);                       // 1 - p
    const float s2 = argument<float>(arguments[4]);                       // 1 / (1 - p + (p == 1))
    float* __restrict out = argument<float*>(arguments[5]);               // contiguous

    const int64 seed_value = seed[0];
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float v1 = float(int(shift_right(random_word(seed_value, 0LL, i), 8LL)));
        out[i] = x[i] * float(v1 * 5.9604645e-08f < s1) * s2 + r[i];
    }
}
