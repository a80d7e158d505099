// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)

// Functions of the C library that have vector forms beside them (glibc's libmvec), within 4 ulp.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INGOT_VECTOR __attribute__((simd("notinbranch"), const))
#else
#define INGOT_VECTOR
#endif

extern "C" INGOT_VECTOR float expf(float) noexcept;

using int64 = long long;

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

constexpr float inf = __builtin_inff();

// NaN if either is; b where they are equal.
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

// NaN if either is.
struct Largest {
    template <typename T>
    static inline T of(T a, T b) {
        return a > b ? a : b;
    }
    static inline float of(float a, float b) { return maximum(a, b); }
    static inline double of(double a, double b) { return maximum(a, b); }
};

// The same for pieces that end at multiples of their size, wherever the first one begins.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_aligned_pieces(int64 begin, int64 end,
                                                             const Work& work) {
    int64 first = begin;
    if (first % size != 0 && first < end) {
        const int64 next = smaller_of(first / size * size + size, end);
        work(first, next - first);
        first = next;
    }
    for (; first + size <= end; first += size) work(first, size);
    if (first < end) work(first, end - first);
}

// What was found of the classes of a row, as one: along the bits of their numbers, lowest first.
template <typename Kind, typename T, int n>
inline T combined(T (&classes)[n]) {
    for (int step = 1; step < n; step *= 2)
        for (int k = 0; k + step < n; k += 2 * step)
            classes[k] = Kind::of(classes[k], classes[k + step]);
    return classes[0];
}

extern "C" void softmax(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float m_of[64];
        for (int c = 0; c < 64; ++c) {
            m_of[c] = -inf;
        }
        for (int64 piece = 0; piece < (n1 + 4095) / 4096; ++piece) {
            const int64 from = piece * 4096;
            const int64 to = smaller_of(from + 4096, n1);
            float m_of_piece_of[64];
            for (int c = 0; c < 64; ++c) {
                m_of_piece_of[c] = -inf;
            }
            in_aligned_pieces<64>(from, to, [&](int64 first, int64 count) __attribute__((always_inline)) {
                const int64 base = first / 64 * 64;
#pragma omp simd
                for (int64 i = first; i < first + count; ++i) {
                    m_of_piece_of[i - base] = maximum(m_of_piece_of[i - base], x_row[i]);
                }
            });
            const float m_of_piece = combined<Largest>(m_of_piece_of);
            m_of[piece % 64] = maximum(m_of[piece % 64], m_of_piece);
        }
        const float m = combined<Largest>(m_of);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 piece_1 = 0; piece_1 < (n1 + 4095) / 4096; ++piece_1) {
            const int64 from_1 = piece_1 * 4096;
            const int64 to_1 = smaller_of(from_1 + 4096, n1);
            float sum_of_piece_of[64];
            for (int c = 0; c < 64; ++c) {
                sum_of_piece_of[c] = 0.0f;
            }
            in_aligned_pieces<64>(from_1, to_1, [&](int64 first, int64 count) __attribute__((always_inline)) {
                const int64 base = first / 64 * 64;
#pragma omp simd
                for (int64 i = first; i < first + count; ++i) {
                    const float e = expf(x_row[i] - m);
                    sum_of_piece_of[i - base] = sum_of_piece_of[i - base] + e;
                }
            });
            const float sum_of_piece = combined<Sum>(sum_of_piece_of);
            sum_of[piece_1 % 64] = sum_of[piece_1 % 64] + sum_of_piece;
        }
        const float sum = combined<Sum>(sum_of);
        const auto out_row = out + row * n1;
        in_aligned_pieces<64>(0, n1, [&](int64 first, int64 count) __attribute__((always_inline)) {
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                const float e = expf(x_row[i] - m);
                out_row[i] = e / sum;
            }
        });
    }
}
