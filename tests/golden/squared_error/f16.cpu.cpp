// def squared_error(x, y):
//     return mean((x - y) ** 2)

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

extern "C" void squared_error(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict x = argument<const float16*>(arguments[0]);  // contiguous
    const float16* __restrict y = argument<const float16*>(arguments[1]);  // contiguous
    const float s1 = argument<float>(arguments[2]);                        // float(x.size(0))
    float16* __restrict out = argument<float16*>(arguments[3]);            // one element
    const int64 n0 = argument<int64>(arguments[4]);                        // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_pieces<64>(0, n0, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float16 x_k = valid ? x[first + k] : float16();
                const float16 y_k = valid ? y[first + k] : float16();
                const float v1 = float(x_k) - float(y_k);
                sum_of[k] = valid ? sum_of[k] + v1 * v1 : sum_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        out[0] = float16(sum / s1);
    }
}
