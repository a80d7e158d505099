// The loops of generated CPU kernels: float16 conversions in bulk, vectorised loops, loops over
// pieces of a range, and prefetching.

// ingot: to_floats
// Converts n consecutive float16 by the processor's own instructions, which GCC does not use in
// loops.
inline void to_floats(const float16* from, float* to, int64 n) {
    int64 whole = 0;
#if defined(__AVX512F__)
    typedef short Halves __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(64)));
    whole = n / 16 * 16;
    for (int64 i = 0; i < whole; i += 16) {
        Halves halves;
        __builtin_memcpy(&halves, from + i, sizeof(halves));
        const Floats floats = __builtin_ia32_vcvtph2ps512_mask(halves, Floats{}, -1, 4);
        __builtin_memcpy(to + i, &floats, sizeof(floats));
    }
#elif defined(__F16C__)
    typedef short Halves __attribute__((vector_size(16)));
    typedef float Floats __attribute__((vector_size(32)));
    whole = n / 8 * 8;
    for (int64 i = 0; i < whole; i += 8) {
        Halves halves;
        __builtin_memcpy(&halves, from + i, sizeof(halves));
        const Floats floats = __builtin_ia32_vcvtph2ps256(halves);
        __builtin_memcpy(to + i, &floats, sizeof(floats));
    }
#endif
    for (int64 i = whole; i < n; ++i) to[i] = float(from[i]);
}

// ingot: from_floats
// Converts n consecutive floats to float16. Every NaN becomes the NaN that float16's constructor
// makes: only the first mantissa bit is set.
inline void from_floats(const float* from, float16* to, int64 n) {
    int64 whole = 0;
#if defined(__AVX512F__)
    typedef short Halves __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(64)));
    whole = n / 16 * 16;
    for (int64 i = 0; i < whole; i += 16) {
        Floats floats;
        __builtin_memcpy(&floats, from + i, sizeof(floats));
        Halves halves = __builtin_ia32_vcvtps2ph512_mask(floats, 0, Halves{}, -1);
        halves &= ~(((halves & 0x7fff) > 0x7c00) & 0x1ff);
        __builtin_memcpy(static_cast<void*>(to + i), &halves, sizeof(halves));
    }
#elif defined(__F16C__)
    typedef short Halves __attribute__((vector_size(16)));
    typedef float Floats __attribute__((vector_size(32)));
    whole = n / 8 * 8;
    for (int64 i = 0; i < whole; i += 8) {
        Floats floats;
        __builtin_memcpy(&floats, from + i, sizeof(floats));
        Halves halves = __builtin_ia32_vcvtps2ph256(floats, 0);
        halves &= ~(((halves & 0x7fff) > 0x7c00) & 0x1ff);
        __builtin_memcpy(static_cast<void*>(to + i), &halves, sizeof(halves));
    }
#endif
    for (int64 i = whole; i < n; ++i) to[i] = float16(from[i]);
}

// ingot: Whole
// A count known at compile time.
template <int64 n>
struct Whole {
    constexpr operator int64() const { return n; }
};

// ingot: Part
// A count known at run time that is below n.
template <int64 n>
struct Part {
    int64 number;
    operator int64() const { return number; }
};

// ingot: over
// Calls work(k, valid) for each k below the count, vectorised. If the compiler does not know the
// count, and the processor can mask memory accesses, the last vector is computed whole, with
// `valid` false for each k past the count. Each k is then a constant, so values that `work` indexes
// by k stay in registers.
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Whole<n>, const Work& work) {
#pragma omp simd
    for (int64 k = 0; k < n; ++k) work(k, true);
}
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Part<n> count, const Work& work) {
#if defined(__AVX512BW__)
#pragma GCC unroll 64
    for (int from = 0; from < n; from += 16) {
        const int left = int(count) - from;
        if (left <= 0) return;
#pragma omp simd
        for (int k = 0; k < 16; ++k) work(from + k, k < left);
    }
#else
#pragma omp simd
    for (int64 k = 0; k < count; ++k) work(k, true);
#endif
}

// ingot: will_write
// Prefetches the memory of elements that will be written, so that the writes need not wait.
template <typename T>
inline void will_write(const T* elements, int64 count) {
    for (int64 k = 0; k < count; k += 64 / sizeof(T)) __builtin_prefetch(elements + k, 1);
}

// ingot: in_pieces
// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}
