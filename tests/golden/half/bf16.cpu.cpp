// def scaled_silu(x, w):
//     return silu(x) * w

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

INGOT_ALIKE(float, 1, expf)

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

// The bits of a float that is no NaN, or one whose last bits are zeros, rounded to even.
inline unsigned upper_half(unsigned wide) { return (wide + 0x7fff + (wide >> 16 & 1)) >> 16; }

// Rounds to even; NaN stays NaN. The copies are written out as those of float16 are.
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

// The same of what is made of bfloat16 alone: its NaNs end in as many zeros, and stay NaN.
inline bfloat16 to_bfloat16(float value) {
    bfloat16 result;
    result.bits = (unsigned short)upper_half(bit_cast<unsigned>(value));
    return result;
}

// A row of n elements, again and again.
template <typename T, typename To>
inline void repeat(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = To(from[i * stride]);
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}

extern "C" void scaled_silu(const void* const* arguments, int64 begin, int64 end) {
    const bfloat16* __restrict x = argument<const bfloat16*>(arguments[0]);  // contiguous
    const bfloat16* __restrict w = argument<const bfloat16*>(arguments[1]);  // at i1
    bfloat16* __restrict out = argument<bfloat16*>(arguments[2]);            // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                          // of i1

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
