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

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// The unsigned integer type with the size of an element. Compilers have vectors of such integers.
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

// Transposes 8 x 8 elements in registers. In each of three rounds, each row is interleaved with the
// row four below it.
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

// As `combined`, for adjacent rows at once.
template <typename Kind, typename T, int n, int rows>
inline void combine_rows(T (&classes)[n][rows], T (&found)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                classes[c][k] = Kind::of(classes[c][k], classes[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = classes[0][k];
}

extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n0 = argument<int64>(arguments[2]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[3]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[4]);
    const int64 out_stride0 = argument<int64>(arguments[5]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 from_row = unit * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float x_rows[8192];
            transpose(x + row * x_stride0, x_stride0, x_rows, 64, n1, rows);
            float m_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    m_of[c][k] = -inf;
                }
                for (int64 i = c; i < n1; i += 64) {
#pragma omp simd
                    for (int64 k = 0; k < rows; ++k) {
                        m_of[c][k] = maximum(x_rows[i * 64 + k], m_of[c][k]);
                    }
                }
            }
            float m[64];
            combine_rows<Largest>(m_of, m);
            float e_of[128][64], sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
                for (int64 i = c; i < n1; i += 64) {
#pragma omp simd
                    for (int64 k = 0; k < rows; ++k) {
                        const float e = decay_of(x_rows[i * 64 + k] - m[k]);
                        sum_of[c][k] = sum_of[c][k] + e;
                        e_of[i][k] = e;
                    }
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
            float out_rows[8192];
            for (int64 i = 0; i < n1; ++i) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    out_rows[i * 64 + k] = e_of[i][k] / sum[k];
                }
            }
            transpose(out_rows, 64, out + row * out_stride0, out_stride0, rows, n1);
        });
    }
}
