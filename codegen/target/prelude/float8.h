// 8-bit floats for both targets: M bits of mantissa, and an exponent with a bias. The rules are
// PyTorch's: e4m3fn has no infinity, and a value out of range becomes NaN; the fnuz types have one
// NaN, 0x80, and no negative zero.

// ingot: float8_bits
// The bits of a float32's magnitude, rounded to nearest even. If the result is denormal, adding a
// power of two rounds.
template <int M, int bias>
inline unsigned float8_bits(unsigned magnitude) {
    const unsigned least_normal = unsigned(128 - bias) << 23;
    const unsigned power = unsigned(151 - bias - M) << 23;
    const unsigned denormal =
        bit_cast<unsigned>(bit_cast<float>(magnitude) + bit_cast<float>(power)) - power;
    const unsigned to_even = magnitude >> (23 - M) & 1;
    const unsigned normal =
        (magnitude - (unsigned(127 - bias) << 23) + (1u << (22 - M)) - 1 + to_even) >> (23 - M);
    return magnitude < least_normal ? denormal : normal;
}

// ingot: float8_value
// The float32 value of a float8's bits, without special values.
template <int M, int bias>
inline float float8_value(unsigned bits) {
    const unsigned magnitude = bits & 0x7f;
    const float unit = bit_cast<float>(unsigned(128 - bias - M) << 23);
    const float normal = bit_cast<float>((magnitude << (23 - M)) + (unsigned(127 - bias) << 23));
    const float value = magnitude >> M ? normal : float(int(magnitude)) * unit;
    return bits & 0x80 ? -value : value;
}

// ingot: float8_e4m3fn
struct float8_e4m3fn {
    unsigned char bits;

    float8_e4m3fn() = default;
    inline explicit float8_e4m3fn(float value) {
        const unsigned wide = bit_cast<unsigned>(value), magnitude = wide & 0x7fffffffu;
        const unsigned rounded = magnitude >= 0x43f00000u ? 0x7f : float8_bits<3, 7>(magnitude);
        bits = (unsigned char)(rounded | (wide >> 24 & 0x80));
    }
    inline operator float() const { return (bits & 0x7f) == 0x7f ? nan : float8_value<3, 7>(bits); }
};

// ingot: float8_e5m2
struct float8_e5m2 {
    unsigned char bits;

    float8_e5m2() = default;
    inline explicit float8_e5m2(float value) {
        const unsigned wide = bit_cast<unsigned>(value), magnitude = wide & 0x7fffffffu;
        const unsigned special = magnitude > 0x7f800000u ? 0x7f : 0x7c;
        const unsigned rounded = magnitude >= 0x47800000u ? special : float8_bits<2, 15>(magnitude);
        bits = (unsigned char)(rounded | (wide >> 24 & 0x80));
    }
    inline operator float() const {
        if ((bits & 0x7f) > 0x7c) return nan;
        if ((bits & 0x7f) == 0x7c) return bits & 0x80 ? -inf : inf;
        return float8_value<2, 15>(bits);
    }
};

// ingot: float8_fnuz
// An 8-bit float without infinity and negative zero; its only NaN is 0x80.
template <int M, int bias>
struct float8_fnuz {
    unsigned char bits;

    float8_fnuz() = default;
    inline explicit float8_fnuz(float value) {
        const unsigned wide = bit_cast<unsigned>(value), magnitude = wide & 0x7fffffffu;
        const unsigned past_the_end = unsigned(127 + bias) << 23;
        const unsigned rounded = magnitude >= past_the_end ? 0x80 : float8_bits<M, bias>(magnitude);
        bits = (unsigned char)(rounded == 0 ? 0 : rounded | (wide >> 24 & 0x80));
    }
    inline operator float() const { return bits == 0x80 ? nan : float8_value<M, bias>(bits); }
};

// ingot: float8_e4m3fnuz
using float8_e4m3fnuz = float8_fnuz<3, 8>;

// ingot: float8_e5m2fnuz
using float8_e5m2fnuz = float8_fnuz<2, 16>;
