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

// Conversion of a value that is computed from bfloat16 alone: its NaNs end in 16 zero bits, and
// stay NaN.
inline bfloat16 to_bfloat16(float value) {
    bfloat16 result;
    result.bits = (unsigned short)upper_half(bit_cast<unsigned>(value));
    return result;
}

// Fills all rows with copies of one row of n elements.
template <typename T, typename To>
inline void repeat(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = To(from[i * stride]);
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}

extern "C" void scaled_silu(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    const bfloat16* __restrict w = argument<const bfloat16*>(arguments[1]);  // at i1
    bfloat16* __restrict out = argument<bfloat16*>(arguments[2]);            // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                          // extent of i1

    const int64 most = 1024 / n1;
    bfloat16 w_chunk[1024];
    repeat(w, 1, w_chunk, most, n1);
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto out_rows = out + i0 * n1;
#pragma omp simd
        for (int64 i = 0; i < rows * n1; ++i) {
            const float v1 = float(x_rows[i]);
            out_rows[i] = to_bfloat16(v1 / (1.0f + expf(-v1)) * float(w_chunk[i]));
        }
        i0 += rows;
    }
}
