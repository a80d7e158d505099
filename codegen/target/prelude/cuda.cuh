// The prelude of generated CUDA kernels. A kernel's source contains only the sections that it uses.
// A section begins at its `// ingot:` line and is included if the source mentions all words of that
// line: the name that the section defines and, for one of several overloads, its type. The formulas
// are the formulas of eager PyTorch's CUDA kernels, bit for bit.

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

// ingot: float16
struct float16 {
    unsigned short bits;

    float16() = default;
    __device__ explicit float16(float value) {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
    __device__ operator float() const {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
    }
};

// ingot: bfloat16
struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    __device__ explicit bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
        const unsigned wide = __float_as_uint(value);
        const unsigned rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;  // rounded to nearest
                                                                            // even
        bits = (unsigned short)(value != value ? 0x7fff : rounded);
#endif
    }
    __device__ operator float() const {
#if __CUDA_ARCH__ >= 800
        float wide;  // one instruction, for either half of a word
        asm("mov.b32 %0, {0, %1};" : "=f"(wide) : "h"(bits));
        return wide;
#else
        return __uint_as_float(unsigned(bits) << 16);
#endif
    }
};

// ingot: inf
#define inf __int_as_float(0x7f800000)

// ingot: nan
#define nan __int_as_float(0x7fc00000)

// ingot: bit_cast
template <typename To, typename From>
__device__ inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

// ingot: Vec
// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

// ingot: load
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load(const T* data, I i) {
    return *reinterpret_cast<const Vec<T, N>*>(data + i);
}

// ingot: load_if
// As load, if the elements exist; otherwise zeros.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_if(const T* data, I i, bool exist) {
    Vec<T, N> values = {};
    if (exist) values = load<N>(data, i);
    return values;
}

// ingot: store
template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
}

// ingot: words_at
// The `words` words that start `off` bytes after the start of two adjacent vectors. Shifts by whole
// words first, in steps of half the size each time, then by bytes.
template <int words>
__device__ inline Vec<unsigned, words> words_at(Vec<unsigned, words> low, Vec<unsigned, words> high,
                                                unsigned off) {
    unsigned both[2 * words];
#pragma unroll
    for (int w = 0; w < words; ++w) both[w] = low[w], both[words + w] = high[w];
#pragma unroll
    for (int step = words / 2; step > 0; step /= 2) {
#pragma unroll
        for (int w = 0; w + step < 2 * words; ++w) {
            const unsigned near = both[w], far = both[w + step];
            both[w] = off & 4 * step ? far : near;
        }
    }
    Vec<unsigned, words> result;
#pragma unroll
    for (int w = 0; w < words; ++w) result[w] = __funnelshift_r(both[w], both[w + 1], off % 4 * 8);
    return result;
}

// ingot: load_shifted
// Loads the N elements from i on of an unaligned tensor, from the two aligned vectors around them.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_shifted(const T* data, I i) {
    constexpr int words = sizeof(T) * N / 4;
    const unsigned off = (unsigned long long)data % (4 * words);
    const char* const at = reinterpret_cast<const char*>(data + i) - off;
    const auto low = *reinterpret_cast<const Vec<unsigned, words>*>(at);
    const auto high = *reinterpret_cast<const Vec<unsigned, words>*>(at + 4 * words);
    return bit_cast<Vec<T, N>>(words_at<words>(low, high, off));
}

// ingot: in_steps
// Calls step(i, whole) for each vector of N adjacent elements that this thread computes of its
// block's share, which starts at element `first` of n. `whole`: all elements of the vector are
// below n. If the block's whole share is below n, no step checks.
template <int N, int Threads, int Steps, typename I, typename Step>
__device__ inline void in_steps(I first, I n, const Step& step) {
    I i = first + N * I(threadIdx.x);
    if (n - first >= N * Threads * Steps) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) step(i + s * (N * Threads), true);
    } else {
#pragma unroll 1
        for (; i < n; i += N * Threads) step(i, i + N <= n);
    }
}

// ingot: load_until
// Loads the N elements from i on; past the last of n elements, the last one is repeated.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_until(const T* data, I i, I n) {
    Vec<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = data[min(i + k, n - 1)];
    return values;
}

// ingot: store_until
// Stores those of the N elements from i on that are below n.
template <typename T, int N, typename I>
__device__ inline void store_until(T* data, I i, I n, const Vec<T, N>& values) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (i + k < n) data[i + k] = values[k];
}

// ingot: store_within
// Stores those of the N elements from i on that are in [begin, end).
template <typename T, int N, typename I>
__device__ inline void store_within(T* data, I i, I begin, I end, const Vec<T, N>& values) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (begin <= i + k && i + k < end) data[i + k] = values[k];
}

// ingot: wrap_index
// An index into n elements: negative ones count from the end; the result is always within the
// tensor.
template <typename I>
__device__ inline I wrap_index(int64 index, I n) {
    if (index < 0) index += n;
    return I(index < 0 ? 0 : index < n ? index : n - 1);
}

// ingot: check_index
// As wrap_index; an index out of range also writes its code to the status.
template <typename I>
__device__ inline I check_index(int64 index, I n, int* status, int code) {
    if (index < -int64(n) || index >= n) *status = code;
    return wrap_index(index, n);
}

// ingot: add
// Sums, differences and products of integers wrap around.
__device__ inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

// ingot: add int64
__device__ inline int64 add(int64 a, int64 b) {
    return int64((unsigned long long)a + (unsigned long long)b);
}

// ingot: subtract
__device__ inline int subtract(int a, int b) { return int(unsigned(a) - unsigned(b)); }

// ingot: subtract int64
__device__ inline int64 subtract(int64 a, int64 b) {
    return int64((unsigned long long)a - (unsigned long long)b);
}

// ingot: multiply
__device__ inline int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }

// ingot: multiply int64
__device__ inline int64 multiply(int64 a, int64 b) {
    return int64((unsigned long long)a * (unsigned long long)b);
}

// ingot: negative
__device__ inline int negative(int a) { return int(0u - unsigned(a)); }

// ingot: negative int64
__device__ inline int64 negative(int64 a) { return int64(0ull - (unsigned long long)a); }

// ingot: is_below_zero
template <typename T>
__device__ inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// ingot: absolute
template <typename T>
__device__ inline T absolute(T a) {
    return is_below_zero(a) ? T(0ull - (unsigned long long)a) : a;
}

// ingot: sign
template <typename T>
__device__ inline T sign(T a) {
    return T((a > 0) - is_below_zero(a));
}

// ingot: maximum float
// NaN if either is NaN; otherwise +0.0 is larger than -0.0.
__device__ inline float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

// ingot: maximum double
__device__ inline double maximum(double a, double b) {
    return a != a ? a : b != b ? b : fmax(a, b);
}

// ingot: minimum float
// NaN if either is NaN; otherwise -0.0 is smaller than +0.0.
__device__ inline float minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fminf(a, b);
#endif
}

// ingot: minimum double
__device__ inline double minimum(double a, double b) {
    return a != a ? a : b != b ? b : fmin(a, b);
}

// ingot: floor_of_quotient
// Rounds a quotient that is nearly an integer to that integer, as c10::div_floor_floating does. A
// zero gets the sign of `ratio`.
template <typename T>
__device__ inline T floor_of_quotient(T quotient, T ratio) {
    if (quotient == 0) return copysign(T(0), ratio);
    const T result = floor(quotient);
    return quotient - result > T(0.5) ? result + 1 : result;
}

// ingot: integer_floor_divide
// The quotient rounded down.
template <typename T>
__device__ inline T integer_floor_divide(T a, T b) {
    const T quotient = a / b;
    return a % b != 0 && is_below_zero(a) != is_below_zero(b) ? T(quotient - 1) : quotient;
}

// ingot: floor_divide float
__device__ inline float floor_divide(float a, float b) {
    if (b == 0) return a / b;
    const float rest = fmodf(a, b);
    const float quotient = (a - rest) / b;
    const bool below = rest != 0 && (b < 0) != (rest < 0);
    return floor_of_quotient(below ? quotient - 1 : quotient, a / b);
}

// ingot: floor_divide double
__device__ inline double floor_divide(double a, double b) {
    if (b == 0) return a / b;
    const double rest = fmod(a, b);
    const double quotient = (a - rest) / b;
    const bool below = rest != 0 && (b < 0) != (rest < 0);
    return floor_of_quotient(below ? quotient - 1 : quotient, a / b);
}

// ingot: integer_remainder
// The remainder with the sign of the divisor.
template <typename T>
__device__ inline T integer_remainder(T a, T b) {
    const T rest = a % b;
    return rest != 0 && is_below_zero(rest) != is_below_zero(b) ? T(rest + b) : rest;
}

// ingot: remainder_of float
__device__ inline float remainder_of(float a, float b) {
    const float rest = fmodf(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

// ingot: remainder_of double
__device__ inline double remainder_of(double a, double b) {
    const double rest = fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}

// ingot: integer_power
template <typename T>
__device__ inline T integer_power(T base, T exponent) {
    if (is_below_zero(exponent))
        return base == 1 ? T(1) : base == T(-1) ? T(exponent % 2 ? -1 : 1) : T(0);
    unsigned long long result = 1, square = (unsigned long long)base;
    for (; exponent != 0; exponent /= 2, square *= square)
        if (exponent % 2) result *= square;
    return T(result);
}

// ingot: power
// A power with eager's special cases for constant exponents.
template <typename T>
__device__ inline T power(T base, T exponent) {
    if (exponent == T(0)) return 1;
    if (exponent == T(1)) return base;
    if (exponent == T(2)) return base * base;
    if (exponent == T(3)) return base * base * base;
    if (exponent == T(0.5)) return sqrt(base);
    if (exponent == T(-0.5)) return rsqrt(base);
    if (exponent == T(-1)) return 1 / base;
    if (exponent == T(-2)) return 1 / (base * base);
    return pow(base, exponent);
}

// ingot: shift_left
// A shift by a negative number, or by the width or more, gives 0.
template <typename T>
__device__ inline T shift_left(T a, T b) {
    return is_below_zero(b) || b >= T(8 * sizeof(T)) ? T(0) : T((unsigned long long)a << b);
}

// ingot: shift_right
// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
__device__ inline T shift_right(T a, T b) {
    const T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

// ingot: math
// The C library's functions, one name for both precisions.
namespace math {
using ::erfc, ::exp, ::expm1, ::fabs, ::floor, ::fma, ::lgamma, ::log, ::log1p, ::pow, ::sqrt;
}

// ingot: approximate_reciprocal
// 1 / b, where both are normal numbers, within about one ulp.
__device__ inline float approximate_reciprocal(float b) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    return near;
}
__device__ inline double approximate_reciprocal(double b) { return 1.0 / b; }

// ingot: log1p_of_finite
// log1p of a number that is not negative, infinite or NaN: log1p has a branch for these.
__device__ inline float log1p_of_finite(float a) {
    __builtin_assume(__float_as_uint(a) < 0x7f800000);
    return log1pf(a);
}

__device__ inline double log1p_of_finite(double a) { return log1p(a); }

// ingot: double_pi
// The value that eager's igamma uses on CUDA: eleven digits.
constexpr double double_pi = 2 * 3.1415926535;

// ingot: take_larger
// Keeps the larger of two values and its index; of equal values the one with the lower index. NaN
// is larger than any number.
template <typename T, typename I, typename Found>
__device__ inline void take_larger(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = value == best || (value != value && best != best);
    const bool is_larger = value > best || (value != value && best == best);
    const bool taken = is_larger || (is_same && at < index);
    best = taken ? value : best;
    index = taken ? at : index;
}

// ingot: take_smaller
// Keeps the smaller of two values and its index. NaN is smaller than any number.
template <typename T, typename I, typename Found>
__device__ inline void take_smaller(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = value == best || (value != value && best != best);
    const bool is_smaller = value < best || (value != value && best == best);
    const bool taken = is_smaller || (is_same && at < index);
    best = taken ? value : best;
    index = taken ? at : index;
}
