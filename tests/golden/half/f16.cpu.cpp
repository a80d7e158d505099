// def scaled_silu(x, w):
//     return silu(x) * w

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

// Not by __builtin_bit_cast, which takes only what is copied as a whole.
template <typename To, typename From>
inline To bit_cast(From from) {
    To to;
    __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(To));
    return to;
}

// A row of n elements, again and again.
template <typename T>
inline void repeat(const T* from, int64 stride, T* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = from[i * stride];
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}

// In integers, which every compiler vectorises. The product moves the exponent and takes denormals
// along.
inline float half_to_float(unsigned short half) {
    const unsigned magnitude = half & 0x7fffu;
    const unsigned top_bit = (half & 0x8000u) << 16;
    const float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
    const unsigned special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return bit_cast<float>(bit_cast<unsigned>(scaled) | special | top_bit);
}

// Rounds to even; adding one half has the processor do so to a denormal's bits.
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

extern "C" void scaled_silu(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict x = argument<const float16*>(arguments[0]);  // contiguous
    const float16* __restrict w = argument<const float16*>(arguments[1]);  // at i1
    float16* __restrict out = argument<float16*>(arguments[2]);            // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                        // of i1

    const int64 most = 1024 / n1;
    float16 w_chunk[1024];
    repeat(w, 1, w_chunk, most, n1);
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto out_rows = out + i0 * n1;
#pragma omp simd
        for (int64 i = 0; i < rows * n1; ++i) {
            const float v1 = float(x_rows[i]);
            out_rows[i] = float16(v1 / (1.0f + expf(-v1)) * float(w_chunk[i]));
        }
        i0 += rows;
    }
}
