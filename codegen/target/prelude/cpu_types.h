// The types of generated CPU kernels, divided into sections as prelude/cuda.cuh: integers named by
// their bits, 16-bit floats, and how arguments are passed. The file includes no header.

// ingot: int8
using int8 = signed char;

// ingot: uint8
using uint8 = unsigned char;

// ingot: int16
using int16 = short;

// ingot: int64
using int64 = long long;

// ingot: uint16
using uint16 = unsigned short;

// ingot: uint32
using uint32 = unsigned;

// ingot: uint64
using uint64 = unsigned long long;

// ingot: unknown_zero
// A zero whose value the compiler does not know.
static const int unknown_zero = [] {
    int zero = 0;
    asm("" : "+r"(zero));
    return zero;
}();

// ingot: to_int
// A float as an integer: out of range, the result of the processor's instruction. Compilers convert
// constants by other rules; adding the first zero hides that `a` is one. GCC also turns
// `float(int(a))` into a truncation, which has no range; adding the second zero hides the integer.
template <typename T>
inline int to_int(T a) {
    return int(a + T(unknown_zero)) + unknown_zero;
}

// ingot: to_int64
template <typename T>
inline int64 to_int64(T a) {
    return int64(a + T(unknown_zero)) + unknown_zero;
}

// ingot: to_uint64
// Negative floats wrap. Converts by int64 alone, since processors differ past the range of uint64.
template <typename T>
inline uint64 to_uint64(T a) {
    const bool is_large = a >= T(0x1p63);
    const int64 low = to_int64(is_large ? a - T(0x1p63) : a);
    return uint64(low) + (uint64(is_large) << 63);
}

// ingot: argument
// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

// ingot: smaller_of
inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// ingot: bit_cast
// __builtin_bit_cast takes only trivially copyable types.
template <typename To, typename From>
inline To bit_cast(From from) {
    To to;
    __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(To));
    return to;
}

// ingot: half_to_float
// Uses integer operations, which every compiler vectorises. The product adjusts the exponent, of
// denormals too.
inline float half_to_float(unsigned short half) {
    const unsigned magnitude = half & 0x7fffu;
    const unsigned top_bit = (half & 0x8000u) << 16;
    const float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
    const unsigned special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return bit_cast<float>(bit_cast<unsigned>(scaled) | special | top_bit);
}

// ingot: half_from_float
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

// ingot: float16
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

// ingot: upper_half
// The upper 16 bits of a float32, rounded to nearest even. The float must not be a NaN, unless its
// lower 16 bits are zeros.
inline unsigned upper_half(unsigned wide) { return (wide + 0x7fff + (wide >> 16 & 1)) >> 16; }

// ingot: bfloat16
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

// ingot: to_bfloat16
// Conversion of a value that is computed from bfloat16 alone: its NaNs end in 16 zero bits, and
// stay NaN.
inline bfloat16 to_bfloat16(float value) {
    bfloat16 result;
    result.bits = (unsigned short)upper_half(bit_cast<unsigned>(value));
    return result;
}

// ingot: inf
constexpr float inf = __builtin_inff();

// ingot: nan
constexpr float nan = __builtin_nanf("");
