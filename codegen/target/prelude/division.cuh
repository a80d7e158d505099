// The prelude of generated CUDA kernels that divide: by a reciprocal that several quotients share,
// or without the slow path of the processor's own division.

// ingot: short_quotient
// i / n, where i * n is less than 2^30, by a reciprocal that all elements of a thread share.
__device__ inline uint32 short_quotient(uint32 i, uint32 n) {
    const uint32 half_reciprocal = 0x80000000u / n;
    return __umulhi(2 * i + 1, half_reciprocal);
}

// ingot: repeated_quotient
// i / n for n > 0. n is the same for many elements of a thread, which computes its reciprocal once.
// The reciprocal is rounded down, so `near` is the quotient or one less.
__device__ inline uint32 repeated_quotient(uint32 i, uint32 n) {
    const uint32 reciprocal = 0xffffffffu / n;
    const uint32 near = __umulhi(i, reciprocal);
    return i - near * n >= n ? near + 1 : near;
}

// ingot: repeated_remainder
// i % n, by repeated_quotient.
__device__ inline uint32 repeated_remainder(uint32 i, uint32 n) {
    return i - repeated_quotient(i, n) * n;
}

// ingot: quotient_of
// a / b by the steps of a division without overflow or underflow on the way: valid if the exponents
// of b and of the quotient are from -48 to 47. Zero numerators take this path, too; the processor's
// own division leaves them to a function.
__device__ inline float quotient_of(float a, float b) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    const float reciprocal = __fmaf_rn(__fmaf_rn(-b, near, 1.0f), near, near);
    const float first = a * reciprocal;
    const auto is_plain = [](float c) { return __float_as_uint(c) * 2 - (79u << 24) < 96u << 24; };
    const bool is_zero = a == 0.0f;  // the fma below would lose the sign of a zero quotient
    const float found = is_zero ? first : __fmaf_rn(__fmaf_rn(-b, first, a), reciprocal, first);
    return is_plain(b) && (is_plain(found) || is_zero) ? found : a / b;
}

// ingot: quotients
// Divides each of the values by the divisor that a row's elements share, with one reciprocal. The
// residual of the product corrects the quotient to the nearest float; this was checked for all
// pairs of significands. Divides a value separately where the divisor is very small or large, or
// where the quotient is so small that its residual may be inexact; but a zero needs no division.
template <int N>
__device__ inline Vec<float, N> quotients(const Vec<float, N>& values, float divisor) {
    const bool is_plain = divisor > 1e-12f && divisor < 1e12f;
    const float reciprocal = is_plain ? 1.0f / divisor : nan;
    Vec<float, N> found;
    float least = inf;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const float near = values[k] * reciprocal;
        const float residual = __fmaf_rn(near, divisor, -values[k]);
        found[k] = __fmaf_rn(-residual, reciprocal, near);
        least = minimum(least, fabsf(found[k]));
    }
    if (least > 1e-16f) return found;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        const bool is_zero = is_plain && values[k] == 0.0f;
        if (!is_zero && !(fabsf(found[k]) > 1e-16f)) found[k] = values[k] / divisor;
    }
    return found;
}

// ingot: reciprocal_of
// The reciprocal that `quotient_by` takes; NaN if the divisor is very small or large.
__device__ inline float reciprocal_of(float divisor) {
    return divisor > 1e-12f && divisor < 1e12f ? 1.0f / divisor : nan;
}

// ingot: reciprocal_of Vec
template <int N>
__device__ inline Vec<float, N> reciprocal_of(const Vec<float, N>& divisors) {
    Vec<float, N> found;
#pragma unroll
    for (int k = 0; k < N; ++k) found[k] = reciprocal_of(divisors[k]);
    return found;
}

// ingot: quotient_by
// value / divisor, by the divisor's reciprocal: as `quotients`, for a single value. `near` is NaN,
// not 0, if the reciprocal is NaN.
__device__ inline float quotient_by(float value, float divisor, float reciprocal) {
    const float near = value * reciprocal;
    const float residual = __fmaf_rn(near, divisor, -value);
    const float found = __fmaf_rn(-residual, reciprocal, near);
    const bool is_zero = value == 0.0f && near == 0.0f;
    return is_zero || fabsf(found) > 1e-16f ? found : value / divisor;
}
