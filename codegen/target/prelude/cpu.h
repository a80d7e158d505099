// The prelude of generated CPU kernels, divided into sections as prelude/cuda.cuh. The file
// includes no header. The formulas are the formulas of eager PyTorch's vectorised CPU kernels.
// Integer division by zero, which a kernel reports, gives 0 and raises no signal.

// ingot: fused
// a b + c, rounded once if the processor can.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// ingot: significand_of_exp
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

// ingot: exp_of
// e^a with the same bits for a single number and in vectors of any width; within 1.01 ulp, where
// the library's vector form is within 2.6.
inline float exp_of(float a) {
    const float above = a < -104.0f ? -104.0f : a, x = above > 89.0f ? 89.0f : above;
    const float shifted = fused(x, 1.44269504f, 12583166.0f);  // its last bits are n + 2 * 127
    const unsigned both = bit_cast<unsigned>(shifted), half = both >> 1;  // two biased exponents
    const float p = significand_of_exp(x, shifted - 12583166.0f);
    return p * bit_cast<float>(half << 23) * bit_cast<float>((both - half) << 23);
}

// ingot: decay_of
// e^a where a is not above 0, or is NaN, with the same bits as exp_of. One more product keeps the
// exponent from underflowing.
inline float decay_of(float a) {
    const float x = a < -104.0f ? -104.0f : a;
    const float shifted = fused(x, 1.44269504f, 12583064.0f);  // its last bits are n + 25 + 127
    const float p = significand_of_exp(x, shifted - 12583064.0f);
    return p * bit_cast<float>(bit_cast<unsigned>(shifted) << 23) * 0x1p-25f;
}

// ingot: log_of
// log(a) with the same bits for a single number and in vectors of any width; within 0.81 ulp, where
// the library's vector form is within 4. Conditions are bit masks, of which GCC makes no branches.
inline float log_of(float a) {
    const unsigned bits = bit_cast<unsigned>(a);
    const int subnormal = int(bits - 0x00800000u) >> 31;
    const float normal = a * bit_cast<float>(0x3f800000 + (subnormal & 0x0b800000));
    const int from_root = bit_cast<int>(normal) - 0x3f3504f3;  // the bits of sqrt(1/2)
    const float n = float((from_root >> 23) + (subnormal & -23));
    const float r = bit_cast<float>((from_root & 0x7fffff) + 0x3f3504f3) - 1.0f, z = r * r;
    float p = 7.0376836292e-2f;
    p = fused(p, r, -1.1514610310e-1f);
    p = fused(p, r, 1.1676998740e-1f);
    p = fused(p, r, -1.2420140846e-1f);
    p = fused(p, r, 1.4249322787e-1f);
    p = fused(p, r, -1.6668057665e-1f);
    p = fused(p, r, 2.0000714765e-1f);
    p = fused(p, r, -2.4999993993e-1f);
    p = fused(p, r, 3.3333331174e-1f);
    p = fused(z, -0.5f, fused(n, -2.12194440e-4f, p * r * z));
    const float result = fused(n, 0.693359375f, r + p);
    const unsigned zero = -unsigned(bits << 1 == 0), negative = unsigned(int(bits) >> 31);
    const unsigned edge =
        (zero & 0xff800000) | (~zero & ((negative & 0x7fc00000) | (~negative & bits)));
    const unsigned ordinary = -unsigned(bits - 1 < 0x7f7fffff);
    return bit_cast<float>((ordinary & bit_cast<unsigned>(result)) | (~ordinary & edge));
}

// ingot: check_index
// An index into n elements: negative ones count from the end; the result is always within the
// tensor. An index out of range sets `bad` to its code.
inline int64 check_index(int64 index, int64 n, int& bad, int code) {
    bad = ((index < -n) | (index >= n)) ? code : bad;
    const int64 wrapped = index < 0 ? index + n : index;
    const int64 most = wrapped < n ? wrapped : n - 1;
    return most < 0 ? 0 : most;
}

// ingot: add
// Sums, differences and products of integers wrap around.
inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

// ingot: add int64
inline int64 add(int64 a, int64 b) { return int64((unsigned long long)a + (unsigned long long)b); }

// ingot: subtract
inline int subtract(int a, int b) { return int(unsigned(a) - unsigned(b)); }

// ingot: subtract int64
inline int64 subtract(int64 a, int64 b) {
    return int64((unsigned long long)a - (unsigned long long)b);
}

// ingot: multiply
inline int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }

// ingot: multiply int64
inline int64 multiply(int64 a, int64 b) {
    return int64((unsigned long long)a * (unsigned long long)b);
}

// ingot: negative
inline int negative(int a) { return int(0u - unsigned(a)); }

// ingot: negative int64
inline int64 negative(int64 a) { return int64(0ull - (unsigned long long)a); }

// ingot: is_below_zero
template <typename T>
inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// ingot: absolute
template <typename T>
inline T absolute(T a) {
    return is_below_zero(a) ? T(0ull - (unsigned long long)a) : a;
}

// ingot: sign
template <typename T>
inline T sign(T a) {
    return T((a > 0) - is_below_zero(a));
}

// ingot: maximum
// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

// ingot: minimum
// NaN if either is NaN; b if they are equal.
template <typename T>
inline T minimum(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
}

// ingot: larger
// The larger operand; if one is NaN, the other; a if they are equal.
template <typename T>
inline T larger(T a, T b) {
    return ((a >= b) | (b != b)) ? a : b;
}

// ingot: smaller
// The smaller operand; if one is NaN, the other; a if they are equal.
template <typename T>
inline T smaller(T a, T b) {
    return ((a <= b) | (b != b)) ? a : b;
}

// ingot: quotient
// a / b without a signal: 0 for a division by zero; the smallest integer divided by -1 wraps.
template <typename T>
inline T quotient(T a, T b) {
    return b == 0 ? T(0) : b == T(-1) && T(-1) < 0 ? T(0ull - (unsigned long long)a) : T(a / b);
}

// ingot: rest
// The remainder a % b without a signal: 0 for a division by zero or by -1.
template <typename T>
inline T rest(T a, T b) {
    return b == 0 || (b == T(-1) && T(-1) < 0) ? T(0) : T(a % b);
}

// ingot: floor_of_quotient
// Rounds a quotient that is nearly an integer to that integer, as c10::div_floor_floating does. A
// zero gets the sign of `ratio`.
template <typename T>
inline T floor_of_quotient(T value, T ratio) {
    if (value == 0) return T(__builtin_copysign(0.0, double(ratio)));
    const T result = T(__builtin_floor(double(value)));
    return value - result > T(0.5) ? result + 1 : result;
}

// ingot: integer_floor_divide
// The quotient rounded down.
template <typename T>
inline T integer_floor_divide(T a, T b) {
    return T(quotient<T>(a, b) - (rest<T>(a, b) != 0 && is_below_zero(a) != is_below_zero(b)));
}

// ingot: floor_divide float
inline float floor_divide(float a, float b) {
    if (b == 0) return a / b;
    const float left = fmodf(a, b);
    const float near = (a - left) / b;
    const bool below = left != 0 && (b < 0) != (left < 0);
    return floor_of_quotient(below ? near - 1 : near, a / b);
}

// ingot: floor_divide double
inline double floor_divide(double a, double b) {
    if (b == 0) return a / b;
    const double left = fmod(a, b);
    const double near = (a - left) / b;
    const bool below = left != 0 && (b < 0) != (left < 0);
    return floor_of_quotient(below ? near - 1 : near, a / b);
}

// ingot: integer_remainder
// The remainder with the sign of the divisor.
template <typename T>
inline T integer_remainder(T a, T b) {
    const T left = rest<T>(a, b);
    return left != 0 && is_below_zero(left) != is_below_zero(b) ? T(left + b) : left;
}

// ingot: remainder_of float
inline float remainder_of(float a, float b) {
    const float left = fmodf(a, b);
    return left != 0 && (b < 0) != (left < 0) ? left + b : left;
}

// ingot: remainder_of double
inline double remainder_of(double a, double b) {
    const double left = fmod(a, b);
    return left != 0 && (b < 0) != (left < 0) ? left + b : left;
}

// ingot: integer_power
template <typename T>
inline T integer_power(T base, T exponent) {
    if (is_below_zero(exponent))
        return base == 1 ? T(1) : base == T(-1) ? T(exponent % 2 ? -1 : 1) : T(0);
    unsigned long long result = 1, square = (unsigned long long)base;
    for (; exponent != 0; exponent = T(exponent / 2), square *= square)
        if (exponent % 2) result *= square;
    return T(result);
}

// ingot: power float
// A power with eager's special cases for constant exponents.
inline float power(float base, float exponent) {
    if (exponent == 0) return 1;
    if (exponent == 1) return base;
    if (exponent == 2) return base * base;
    if (exponent == 3) return base * base * base;
    if (exponent == 0.5f) return sqrtf(base);
    if (exponent == -0.5f) return 1 / sqrtf(base);
    if (exponent == -1) return 1 / base;
    if (exponent == -2) return 1 / (base * base);
    return powf(base, exponent);
}

// ingot: power double
inline double power(double base, double exponent) {
    if (exponent == 0) return 1;
    if (exponent == 1) return base;
    if (exponent == 2) return base * base;
    if (exponent == 3) return base * base * base;
    if (exponent == 0.5) return sqrt(base);
    if (exponent == -0.5) return 1 / sqrt(base);
    if (exponent == -1) return 1 / base;
    if (exponent == -2) return 1 / (base * base);
    return pow(base, exponent);
}

// ingot: shift_left
// A shift by a negative number, or by the width or more, gives 0.
template <typename T>
inline T shift_left(T a, T b) {
    const bool within = !is_below_zero(b) && b < T(8 * sizeof(T));
    return within ? T((unsigned long long)a << (within ? b : 0)) : T(0);
}

// ingot: shift_right
// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
inline T shift_right(T a, T b) {
    constexpr T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

// ingot: is_infinite
template <typename T>
inline bool is_infinite(T a) {
    return __builtin_isinf(a) != 0;
}

// ingot: is_negative float
// GCC 12 fails on __builtin_signbit in vectorised loops.
inline bool is_negative(float a) { return bit_cast<int>(a) < 0; }

// ingot: is_negative double
inline bool is_negative(double a) { return bit_cast<int64>(a) < 0; }

// ingot: math erfc
// The C library's functions, one name for both precisions.
namespace math {
inline float erfc(float a) { return __builtin_erfcf(a); }
inline double erfc(double a) { return __builtin_erfc(a); }
}  // namespace math

// ingot: math exp
namespace math {
inline float exp(float a) { return __builtin_expf(a); }
inline double exp(double a) { return __builtin_exp(a); }
}  // namespace math

// ingot: math expm1
namespace math {
inline float expm1(float a) { return __builtin_expm1f(a); }
inline double expm1(double a) { return __builtin_expm1(a); }
}  // namespace math

// ingot: math fabs
namespace math {
inline float fabs(float a) { return __builtin_fabsf(a); }
inline double fabs(double a) { return __builtin_fabs(a); }
}  // namespace math

// ingot: math floor
namespace math {
inline float floor(float a) { return __builtin_floorf(a); }
inline double floor(double a) { return __builtin_floor(a); }
}  // namespace math

// ingot: math fma
namespace math {
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
}  // namespace math

// ingot: math lgamma
namespace math {
inline float lgamma(float a) { return __builtin_lgammaf(a); }
inline double lgamma(double a) { return __builtin_lgamma(a); }
}  // namespace math

// ingot: math log
namespace math {
inline float log(float a) { return __builtin_logf(a); }
inline double log(double a) { return __builtin_log(a); }
}  // namespace math

// ingot: math log1p
namespace math {
inline float log1p(float a) { return __builtin_log1pf(a); }
inline double log1p(double a) { return __builtin_log1p(a); }
}  // namespace math

// ingot: math pow
namespace math {
inline float pow(float a, float b) { return __builtin_powf(a, b); }
inline double pow(double a, double b) { return __builtin_pow(a, b); }
}  // namespace math

// ingot: math sqrt
namespace math {
inline float sqrt(float a) { return __builtin_sqrtf(a); }
inline double sqrt(double a) { return __builtin_sqrt(a); }
}  // namespace math

// ingot: inverse_erf
// Computes in double, so that a float is correct to the last place: a rational function (Gary L.
// Pavlis, 1996, as in PyTorch) and Newton steps. For large |value| the steps use erfc, which
// represents 1 - |value| exactly.
template <typename T>
inline T inverse_erf(T value) {
    const double y = value, size = fabs(y), rest = 1 - size;
    const double z = y * y, w = sqrt(-log(rest / 2));
    const double middle =
        y * (((-0.140543331 * z + 0.914624893) * z - 1.645349621) * z + 0.886226899) /
        ((((0.012229801 * z - 0.329097515) * z + 1.442710462) * z - 2.118377725) * z + 1);
    const double tail = (((1.641345311 * w + 3.429567803) * w - 1.624906493) * w - 1.970840454) /
                        ((1.637067800 * w + 3.543889200) * w + 1);
    const bool inside = size <= 0.7;
    double x = inside ? fabs(middle) : tail;
    for (int step = 0; step < (sizeof(T) == 8 ? 3 : 2); ++step) {
        const double excess = inside ? erf(x) - size : rest - erfc(x);
        x -= excess / (1.1283791670955126 * exp(-x * x));
    }
    x = size == 1 ? double(inf) : size > 1 ? double(nan) : x;
    return T(copysign(x, y));
}

// ingot: double_pi
// The value that eager's igamma uses on the CPU: 2 pi in float32.
constexpr double double_pi = 6.2831854820251465;

// ingot: take_larger
// Keeps the larger of two values and its index; of equal values the one with the lower index. NaN
// is larger than any number.
template <typename T, typename I, typename Found>
inline void take_larger(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = (value == best) | ((value != value) & (best != best));
    const bool is_larger = (value > best) | ((value != value) & (best == best));
    const bool taken = is_larger | (is_same & (at < index));
    best = taken ? value : best;
    index = taken ? at : index;
}

// ingot: take_smaller
// Keeps the smaller of two values and its index. NaN is smaller than any number.
template <typename T, typename I, typename Found>
inline void take_smaller(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = (value == best) | ((value != value) & (best != best));
    const bool is_smaller = (value < best) | ((value != value) & (best == best));
    const bool taken = is_smaller | (is_same & (at < index));
    best = taken ? value : best;
    index = taken ? at : index;
}
