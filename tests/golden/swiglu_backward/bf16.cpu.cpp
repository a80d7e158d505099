// def swiglu(x):
//     gate, value = x.chunk(2, -1)
//     return F.silu(gate) * value

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

extern "C" void swiglu_backward(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x_512 = argument<const bfloat16*>(arguments[0]);  // at i0 * x_stride0 + i1
    const bfloat16* __restrict x_0 = argument<const bfloat16*>(arguments[1]);    // at i0 * x_stride0 + i1
    const bfloat16* __restrict grad = argument<const bfloat16*>(arguments[2]);   // contiguous
    bfloat16* __restrict out_0 = argument<bfloat16*>(arguments[3]);              // at i0 * out_stride0 + i1
    bfloat16* __restrict out_512 = argument<bfloat16*>(arguments[4]);            // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[5]);                              // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[6]);
    const int64 out_stride0 = argument<int64>(arguments[7]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto grad_row = grad + row;
        const auto x_512_row = x_512 + i0 * x_stride0;
        const auto x_0_row = x_0 + i0 * x_stride0;
        const auto out_0_row = out_0 + i0 * out_stride0;
        const auto out_512_row = out_512 + i0 * out_stride0;
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            const float v1 = float(grad_row[i1]);
            const bfloat16 value = x_512_row[i1];
            const bfloat16 gate = x_0_row[i1];
            const float v2 = float(gate);
            const float v3 = 1.0f + expf(-v2);
            const float v4 = 1.0f / v3;
            out_0_row[i1] = to_bfloat16(v1 * float(value) * v4 * (v2 * (1.0f - v4) + 1.0f));
            out_512_row[i1] = to_bfloat16(v1 * (v2 / v3));
        }
        i += last - first;
    }
}
