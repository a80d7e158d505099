// The functions of the C library that generated CPU kernels call, in pieces as the rest of the
// prelude is. Declared here, since no header is included, and since <math.h> keeps the vector forms
// to itself unless -ffast-math is given.

// ingot: INGOT_ALIKE
// A function of the C library is its vector form (glibc's libmvec, within 4 ulp) wherever it
// stands: alone, and in vectors of any length, the widest form that the machine has computes it,
// some of whose lanes are of no use then. So a value is the same bits whatever is computed beside
// it.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#if defined(__AVX512F__)
#define INGOT_WIDEST(b, d, e) e
#elif defined(__AVX2__)
#define INGOT_WIDEST(b, d, e) d
#else
#define INGOT_WIDEST(b, d, e) b
#endif

template <typename T, int bytes>
struct LanesOf {
    typedef T type __attribute__((vector_size(bytes)));
};
template <typename T, int bytes>
using Lanes = typename LanesOf<T, bytes>::type;
template <typename T>
using Widest = Lanes<T, INGOT_WIDEST(16, 32, 64)>;

// The first lanes, or all of them again and again.
template <typename To, typename From>
inline To resized(const From& lanes) {
    To to;
    if constexpr (sizeof(To) <= sizeof(From)) {
        __builtin_memcpy(&to, &lanes, sizeof(To));
    } else {
        for (unsigned at = 0; at < sizeof(To); at += sizeof(From))
            __builtin_memcpy(reinterpret_cast<char*>(&to) + at, &lanes, sizeof(From));
    }
    return to;
}

#define INGOT_VECTOR extern "C" __attribute__((simd("notinbranch"), const))
#define INGOT_HIDDEN __attribute__((visibility("hidden")))

// The name in the library of the form with vectors of so many bytes begins with a label.
#define INGOT_FORM_1(T, bytes, label, name)                                                    \
    INGOT_HIDDEN Lanes<T, bytes> name##_of_##bytes(Lanes<T, bytes>) __asm__(label              \
                                                                            "v_alike_" #name); \
    Lanes<T, bytes> name##_of_##bytes(Lanes<T, bytes> x) {                                     \
        return resized<Lanes<T, bytes>>(widest_##name(resized<Widest<T>>(x)));                 \
    }
#define INGOT_FORM_2(T, bytes, label, name)                                   \
    INGOT_HIDDEN Lanes<T, bytes> name##_of_##bytes(                           \
        Lanes<T, bytes>, Lanes<T, bytes>) __asm__(label "vv_alike_" #name);   \
    Lanes<T, bytes> name##_of_##bytes(Lanes<T, bytes> x, Lanes<T, bytes> y) { \
        return resized<Lanes<T, bytes>>(                                      \
            widest_##name(resized<Widest<T>>(x), resized<Widest<T>>(y)));     \
    }
#if defined(__AVX512F__)
#define INGOT_FORMS(form, T, b, d, e, name) \
    form(T, 16, b, name) form(T, 32, d, name) form(T, 64, e, name)
#elif defined(__AVX2__)
#define INGOT_FORMS(form, T, b, d, e, name) form(T, 16, b, name) form(T, 32, d, name)
#else
#define INGOT_FORMS(form, T, b, d, e, name) form(T, 16, b, name)
#endif

#define INGOT_ALIKE_1(T, b, d, e, name)                                           \
    INGOT_VECTOR T name(T) noexcept __asm__("alike_" #name);                      \
    Widest<T> widest_##name(Widest<T>) __asm__(INGOT_WIDEST(b, d, e) "v_" #name); \
    INGOT_HIDDEN T alone_##name(T) __asm__("alike_" #name);                       \
    T alone_##name(T x) { return widest_##name(x - Widest<T>{})[0]; }             \
    INGOT_FORMS(INGOT_FORM_1, T, b, d, e, name)
#define INGOT_ALIKE_2(T, b, d, e, name)                                                       \
    INGOT_VECTOR T name(T, T) noexcept __asm__("alike_" #name);                               \
    Widest<T> widest_##name(Widest<T>, Widest<T>) __asm__(INGOT_WIDEST(b, d, e) "vv_" #name); \
    INGOT_HIDDEN T alone_##name(T, T) __asm__("alike_" #name);                                \
    T alone_##name(T x, T y) { return widest_##name(x - Widest<T>{}, y - Widest<T>{})[0]; }   \
    INGOT_FORMS(INGOT_FORM_2, T, b, d, e, name)
#define INGOT_ALIKE(T, count, name) INGOT_ALIKE_##T(count, name)
#define INGOT_ALIKE_float(count, name) \
    INGOT_ALIKE_##count(float, "_ZGVbN4", "_ZGVdN8", "_ZGVeN16", name)
#define INGOT_ALIKE_double(count, name) \
    INGOT_ALIKE_##count(double, "_ZGVbN2", "_ZGVdN4", "_ZGVeN8", name)
#else
#define INGOT_ALIKE(T, count, name) INGOT_ALIKE_##count(T, name)
#define INGOT_ALIKE_1(T, name) extern "C" T name(T) noexcept;
#define INGOT_ALIKE_2(T, name) extern "C" T name(T, T) noexcept;
#endif

// ingot: acosf
INGOT_ALIKE(float, 1, acosf)

// ingot: acos
INGOT_ALIKE(double, 1, acos)

// ingot: acoshf
INGOT_ALIKE(float, 1, acoshf)

// ingot: acosh
INGOT_ALIKE(double, 1, acosh)

// ingot: asinf
INGOT_ALIKE(float, 1, asinf)

// ingot: asin
INGOT_ALIKE(double, 1, asin)

// ingot: asinhf
INGOT_ALIKE(float, 1, asinhf)

// ingot: asinh
INGOT_ALIKE(double, 1, asinh)

// ingot: atanf
INGOT_ALIKE(float, 1, atanf)

// ingot: atan
INGOT_ALIKE(double, 1, atan)

// ingot: atanhf
INGOT_ALIKE(float, 1, atanhf)

// ingot: atanh
INGOT_ALIKE(double, 1, atanh)

// ingot: cosf
INGOT_ALIKE(float, 1, cosf)

// ingot: cos
INGOT_ALIKE(double, 1, cos)

// ingot: coshf
INGOT_ALIKE(float, 1, coshf)

// ingot: cosh
INGOT_ALIKE(double, 1, cosh)

// ingot: erff
// Within 1.7 ulp, where the library's vector form is within 4 and takes half as long again. Fitted
// to erf(a) / a up to 1, and to erfc(a) from there to where erf(a) is 1.
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
INGOT_ALIKE(float, 1, erff)
#endif

// ingot: erf
INGOT_ALIKE(double, 1, erf)

// ingot: erfcf
INGOT_ALIKE(float, 1, erfcf)

// ingot: erfc
INGOT_ALIKE(double, 1, erfc)

// ingot: expf
INGOT_ALIKE(float, 1, expf)

// ingot: exp
INGOT_ALIKE(double, 1, exp)

// ingot: exp2f
INGOT_ALIKE(float, 1, exp2f)

// ingot: exp2
INGOT_ALIKE(double, 1, exp2)

// ingot: expm1f
INGOT_ALIKE(float, 1, expm1f)

// ingot: expm1
INGOT_ALIKE(double, 1, expm1)

// ingot: logf
INGOT_ALIKE(float, 1, logf)

// ingot: log
INGOT_ALIKE(double, 1, log)

// ingot: log10f
INGOT_ALIKE(float, 1, log10f)

// ingot: log10
INGOT_ALIKE(double, 1, log10)

// ingot: log1pf
INGOT_ALIKE(float, 1, log1pf)

// ingot: log1p
INGOT_ALIKE(double, 1, log1p)

// ingot: log2f
INGOT_ALIKE(float, 1, log2f)

// ingot: log2
INGOT_ALIKE(double, 1, log2)

// ingot: sinf
INGOT_ALIKE(float, 1, sinf)

// ingot: sin
INGOT_ALIKE(double, 1, sin)

// ingot: sinhf
INGOT_ALIKE(float, 1, sinhf)

// ingot: sinh
INGOT_ALIKE(double, 1, sinh)

// ingot: tanf
INGOT_ALIKE(float, 1, tanf)

// ingot: tan
INGOT_ALIKE(double, 1, tan)

// ingot: tanhf
INGOT_ALIKE(float, 1, tanhf)

// ingot: tanh
INGOT_ALIKE(double, 1, tanh)

// ingot: atan2f
INGOT_ALIKE(float, 2, atan2f)

// ingot: atan2
INGOT_ALIKE(double, 2, atan2)

// ingot: hypotf
INGOT_ALIKE(float, 2, hypotf)

// ingot: hypot
INGOT_ALIKE(double, 2, hypot)

// ingot: powf
INGOT_ALIKE(float, 2, powf)

// ingot: pow
INGOT_ALIKE(double, 2, pow)

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
