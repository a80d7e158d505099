// Declares the C library's functions that generated CPU kernels call, divided into sections as all
// files of the prelude. No header is included, and <math.h> declares the vector forms only with
// -ffast-math.

// ingot: INGOT_VECTOR
// Marks functions of the C library that have vector forms (glibc's libmvec), within 4 ulp.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INGOT_VECTOR __attribute__((simd("notinbranch"), const))
#else
#define INGOT_VECTOR
#endif

// ingot: acosf
extern "C" INGOT_VECTOR float acosf(float) noexcept;

// ingot: acos
extern "C" INGOT_VECTOR double acos(double) noexcept;

// ingot: acoshf
extern "C" INGOT_VECTOR float acoshf(float) noexcept;

// ingot: acosh
extern "C" INGOT_VECTOR double acosh(double) noexcept;

// ingot: asinf
extern "C" INGOT_VECTOR float asinf(float) noexcept;

// ingot: asin
extern "C" INGOT_VECTOR double asin(double) noexcept;

// ingot: asinhf
extern "C" INGOT_VECTOR float asinhf(float) noexcept;

// ingot: asinh
extern "C" INGOT_VECTOR double asinh(double) noexcept;

// ingot: atanf
extern "C" INGOT_VECTOR float atanf(float) noexcept;

// ingot: atan
extern "C" INGOT_VECTOR double atan(double) noexcept;

// ingot: atanhf
extern "C" INGOT_VECTOR float atanhf(float) noexcept;

// ingot: atanh
extern "C" INGOT_VECTOR double atanh(double) noexcept;

// ingot: cosf
extern "C" INGOT_VECTOR float cosf(float) noexcept;

// ingot: cos
extern "C" INGOT_VECTOR double cos(double) noexcept;

// ingot: coshf
extern "C" INGOT_VECTOR float coshf(float) noexcept;

// ingot: cosh
extern "C" INGOT_VECTOR double cosh(double) noexcept;

// ingot: erff
// Within 1.7 ulp; the library's vector form is within 4 and slower. Fitted to erf(a) / a up to 1,
// and to erfc(a) from there to where erf(a) rounds to 1.
#if defined(__FMA__) || defined(__aarch64__)
inline float erff(float a) {
    const float size = __builtin_fabsf(a), s = a * a;
    float near = -0.000565410592f;
    near = __builtin_fmaf(near, s, 0.00492327753f);
    near = __builtin_fmaf(near, s, -0.026716385f);
    near = __builtin_fmaf(near, s, 0.112803645f);
    near = __builtin_fmaf(near, s, -0.376123488f);
    near = __builtin_fmaf(near, s, 0.128379121f);
    near = __builtin_fmaf(near, a, a);
    const float d = (size > 3.94f ? 3.94f : size) - 2.5f;
    float far = 8.70944041e-06f;
    far = __builtin_fmaf(far, d, -2.14060092e-05f);
    far = __builtin_fmaf(far, d, -5.9413811e-05f);
    far = __builtin_fmaf(far, d, 0.000280871929f);
    far = __builtin_fmaf(far, d, -0.000291999429f);
    far = __builtin_fmaf(far, d, -0.000574202684f);
    far = __builtin_fmaf(far, d, 0.00282375421f);
    far = __builtin_fmaf(far, d, -0.00610002549f);
    far = __builtin_fmaf(far, d, 0.0086127799f);
    far = __builtin_fmaf(far, d, -0.00835432485f);
    far = __builtin_fmaf(far, d, 0.00544707011f);
    far = __builtin_fmaf(far, d, -0.00217797933f);
    far = __builtin_fmaf(far, d, 0.000406920648f);
    far = __builtin_copysignf(1.0f - far, a);
    return size > 1.0f ? far : near;
}
#else
extern "C" INGOT_VECTOR float erff(float) noexcept;
#endif

// ingot: erf
extern "C" INGOT_VECTOR double erf(double) noexcept;

// ingot: erfcf
extern "C" INGOT_VECTOR float erfcf(float) noexcept;

// ingot: erfc
extern "C" INGOT_VECTOR double erfc(double) noexcept;

// ingot: expf
extern "C" INGOT_VECTOR float expf(float) noexcept;

// ingot: exp
extern "C" INGOT_VECTOR double exp(double) noexcept;

// ingot: exp2f
extern "C" INGOT_VECTOR float exp2f(float) noexcept;

// ingot: exp2
extern "C" INGOT_VECTOR double exp2(double) noexcept;

// ingot: expm1f
extern "C" INGOT_VECTOR float expm1f(float) noexcept;

// ingot: expm1
extern "C" INGOT_VECTOR double expm1(double) noexcept;

// ingot: logf
extern "C" INGOT_VECTOR float logf(float) noexcept;

// ingot: log
extern "C" INGOT_VECTOR double log(double) noexcept;

// ingot: log10f
extern "C" INGOT_VECTOR float log10f(float) noexcept;

// ingot: log10
extern "C" INGOT_VECTOR double log10(double) noexcept;

// ingot: log1pf
extern "C" INGOT_VECTOR float log1pf(float) noexcept;

// ingot: log1p
extern "C" INGOT_VECTOR double log1p(double) noexcept;

// ingot: log2f
extern "C" INGOT_VECTOR float log2f(float) noexcept;

// ingot: log2
extern "C" INGOT_VECTOR double log2(double) noexcept;

// ingot: sinf
extern "C" INGOT_VECTOR float sinf(float) noexcept;

// ingot: sin
extern "C" INGOT_VECTOR double sin(double) noexcept;

// ingot: sinhf
extern "C" INGOT_VECTOR float sinhf(float) noexcept;

// ingot: sinh
extern "C" INGOT_VECTOR double sinh(double) noexcept;

// ingot: tanf
extern "C" INGOT_VECTOR float tanf(float) noexcept;

// ingot: tan
extern "C" INGOT_VECTOR double tan(double) noexcept;

// ingot: tanhf
extern "C" INGOT_VECTOR float tanhf(float) noexcept;

// ingot: tanh
extern "C" INGOT_VECTOR double tanh(double) noexcept;

// ingot: atan2f
extern "C" INGOT_VECTOR float atan2f(float, float) noexcept;

// ingot: atan2
extern "C" INGOT_VECTOR double atan2(double, double) noexcept;

// ingot: hypotf
extern "C" INGOT_VECTOR float hypotf(float, float) noexcept;

// ingot: hypot
extern "C" INGOT_VECTOR double hypot(double, double) noexcept;

// ingot: powf
extern "C" INGOT_VECTOR float powf(float, float) noexcept;

// ingot: pow
extern "C" INGOT_VECTOR double pow(double, double) noexcept;

// ingot: ceilf
extern "C" float ceilf(float) noexcept;

// ingot: ceil
extern "C" double ceil(double) noexcept;

// ingot: fabsf
extern "C" float fabsf(float) noexcept;

// ingot: fabs
extern "C" double fabs(double) noexcept;

// ingot: floorf
extern "C" float floorf(float) noexcept;

// ingot: floor
extern "C" double floor(double) noexcept;

// ingot: lgammaf
extern "C" float lgammaf(float) noexcept;

// ingot: lgamma
extern "C" double lgamma(double) noexcept;

// ingot: nearbyintf
extern "C" float nearbyintf(float) noexcept;

// ingot: nearbyint
extern "C" double nearbyint(double) noexcept;

// ingot: sqrtf
extern "C" float sqrtf(float) noexcept;

// ingot: sqrt
extern "C" double sqrt(double) noexcept;

// ingot: truncf
extern "C" float truncf(float) noexcept;

// ingot: trunc
extern "C" double trunc(double) noexcept;

// ingot: copysignf
extern "C" float copysignf(float, float) noexcept;

// ingot: copysign
extern "C" double copysign(double, double) noexcept;

// ingot: fmodf
extern "C" float fmodf(float, float) noexcept;

// ingot: fmod
extern "C" double fmod(double, double) noexcept;

// ingot: nextafterf
extern "C" float nextafterf(float, float) noexcept;

// ingot: nextafter
extern "C" double nextafter(double, double) noexcept;

// ingot: fmaf
extern "C" float fmaf(float, float, float) noexcept;

// ingot: fma
extern "C" double fma(double, double, double) noexcept;
