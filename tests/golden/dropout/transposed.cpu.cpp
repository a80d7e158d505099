// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

using int64 = long long;

using uint64 = unsigned long long;

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

template <typename T>
inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// By a negative number, or by the width or more: the sign.
template <typename T>
inline T shift_right(T a, T b) {
    constexpr T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

// An integer as large as an element, which vectors can be made of.
template <int bytes>
struct Word;
template <>
struct Word<1> {
    typedef unsigned char type;
};
template <>
struct Word<2> {
    typedef unsigned short type;
};
template <>
struct Word<4> {
    typedef unsigned type;
};
template <>
struct Word<8> {
    typedef unsigned long long type;
};

// 8 x 8 elements in registers: three times, each row is zipped with the one four below it.
template <typename T>
inline void transpose_8(const T* from, int64 from_stride, T* to, int64 to_stride) {
    typedef typename Word<sizeof(T)>::type Element;
    typedef Element Row __attribute__((vector_size(8 * sizeof(T))));
    Row rows[8], zipped[8];
    for (int k = 0; k < 8; ++k) __builtin_memcpy(&rows[k], from + k * from_stride, sizeof(Row));
    for (int round = 0; round < 3; ++round) {
        for (int k = 0; k < 4; ++k) {
            const Row a = rows[k], b = rows[k + 4];
            zipped[2 * k] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
            zipped[2 * k + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int k = 0; k < 8; ++k) rows[k] = zipped[k];
    }
    for (int k = 0; k < 8; ++k)
        __builtin_memcpy(static_cast<void*>(to + k * to_stride), &rows[k], sizeof(Row));
}

// to[r * pitch + c] = from[c * stride + r], for r below `rows` and c below `columns`.
template <typename T>
inline void transpose(const T* from, int64 stride, T* to, int64 pitch, int64 rows, int64 columns) {
    int64 c = 0;
    if constexpr (sizeof(T) <= 8) {
        for (; c + 8 <= columns; c += 8) {
            int64 r = 0;
            for (; r + 8 <= rows; r += 8)
                transpose_8(from + c * stride + r, stride, to + r * pitch + c, pitch);
            for (; r < rows; ++r)
                for (int64 k = c; k < c + 8; ++k) to[r * pitch + k] = from[k * stride + r];
        }
    }
    for (; c < columns; ++c)
        for (int64 r = 0; r < rows; ++r) to[r * pitch + c] = from[c * stride + r];
}

inline void philox_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned key0,
                         unsigned key1) {
    const uint64 first = uint64(0xD2511F53u) * a, second = uint64(0xCD9E8D57u) * c;
    a = unsigned(second >> 32) ^ b ^ key0;
    b = unsigned(second);
    c = unsigned(first >> 32) ^ d ^ key1;
    d = unsigned(first);
}

// The counter a, b, c, d, its lowest word first, becomes four random words.
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

// Word `place` of a draw. Four neighbours are of one counter: where a thread has them as its lanes,
// the compiler sees that and scrambles it once.
template <typename T>
inline T random_word(T seed, T draw, T place) {
    const uint64 at = uint64(place), number = uint64(draw);
    unsigned a = unsigned(at >> 2), b = unsigned(at >> 34), c = unsigned(number),
             d = unsigned(number >> 32);
    philox(a, b, c, d, uint64(seed));
    return T((at & 2) != 0 ? (at & 1) != 0 ? d : c : (at & 1) != 0 ? b : a);
}

extern "C" void dropout(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);     // at i0 + i1 * x_stride1
    const float* __restrict r = argument<const float*>(arguments[1]);     // at i0 + i1 * r_stride1
    const int64* __restrict seed = argument<const int64*>(arguments[2]);  // one element
    const float s1 = argument<float>(arguments[3]);                       // 1 - p
    const float s2 = argument<float>(arguments[4]);                       // 1 / (1 - p + (p == 1))
    float* __restrict out = argument<float*>(arguments[5]);               // contiguous
    const int64 n0 = argument<int64>(arguments[6]);                       // of i0
    const int64 n1 = argument<int64>(arguments[7]);                       // of i1
    const int64 x_stride1 = argument<int64>(arguments[8]);
    const int64 position_stride0 = argument<int64>(arguments[9]);
    const int64 r_stride1 = argument<int64>(arguments[10]);

    const int64 tiles1 = (n1 + 63) / 64;
    for (int64 t = begin; t < end; ++t) {
        const int64 first1 = t % tiles1 * 64;
        const int64 last1 = smaller_of(first1 + 64, n1);
        const int64 first0 = t / tiles1 * 64;
        const int64 last0 = smaller_of(first0 + 64, n0);
        float x_tile[4096], r_tile[4096];
        transpose(x + first0 + first1 * x_stride1, x_stride1, x_tile, 64, last0 - first0, last1 - first1);
        transpose(r + first0 + first1 * r_stride1, r_stride1, r_tile, 64, last0 - first0, last1 - first1);
        for (int64 i0 = first0; i0 < last0; ++i0) {
            const auto x_row = x_tile + (i0 - first0) * 64;
            const auto r_row = r_tile + (i0 - first0) * 64;
            const int64 row = i0 * n1;
            const auto out_row = out + row;
            const int64 seed_value = seed[0];
#pragma omp simd
            for (int64 i1 = first1; i1 < last1; ++i1) {
                const int64 v1 = random_word(seed_value, 0LL, i0 * position_stride0 + i1);
                const float v2 = float(float(int(shift_right(v1, 8LL))) * 5.9604645e-08f < s1);
                out_row[i1] = x_row[i1 - first1] * v2 * s2 + r_row[i1 - first1];
            }
        }
    }
}
