// More of the prelude of generated CPU kernels: conversions of float16 in bulk, vectorised loops
// and chunk loops, prefetching, copies of operands to buffers in the order of a loop, and how the
// accumulators of a row are combined.

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
// A count that the compiler knows.
template <int64 n>
struct Whole {
    constexpr operator int64() const { return n; }
};

// ingot: Part
// A count below a bound that the compiler knows.
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
// Calls work(first, count) for chunks of [begin, end). The compiler knows the count of all chunks
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// ingot: Word
// The unsigned integer type with the size of an element. Compilers have vectors of such integers.
template <int bytes>
struct Word;
template <>
struct Word<1> {
    typedef unsigned char type;
};
template <>
struct Word<2> {
    typedef unsigned short type;
};
template <>
struct Word<4> {
    typedef unsigned type;
};
template <>
struct Word<8> {
    typedef unsigned long long type;
};

// ingot: transpose_8
// Transposes 8 x 8 elements in registers. In each of three rounds, each row is interleaved with the
// row four below it.
template <typename T>
inline void transpose_8(const T* from, int64 from_stride, T* to, int64 to_stride) {
    typedef typename Word<sizeof(T)>::type Element;
    typedef Element Row __attribute__((vector_size(8 * sizeof(T))));
    Row rows[8], zipped[8];
    for (int k = 0; k < 8; ++k) __builtin_memcpy(&rows[k], from + k * from_stride, sizeof(Row));
    for (int round = 0; round < 3; ++round) {
        for (int k = 0; k < 4; ++k) {
            const Row a = rows[k], b = rows[k + 4];
            zipped[2 * k] = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
            zipped[2 * k + 1] = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int k = 0; k < 8; ++k) rows[k] = zipped[k];
    }
    for (int k = 0; k < 8; ++k)
        __builtin_memcpy(static_cast<void*>(to + k * to_stride), &rows[k], sizeof(Row));
}

// ingot: transpose
// to[r * pitch + c] = from[c * stride + r], for r below `rows` and c below `columns`.
template <typename T>
inline void transpose(const T* from, int64 stride, T* to, int64 pitch, int64 rows, int64 columns) {
    int64 c = 0;
    if constexpr (sizeof(T) <= 8) {
        for (; c + 8 <= columns; c += 8) {
            int64 r = 0;
            for (; r + 8 <= rows; r += 8)
                transpose_8(from + c * stride + r, stride, to + r * pitch + c, pitch);
            for (; r < rows; ++r)
                for (int64 k = c; k < c + 8; ++k) to[r * pitch + k] = from[k * stride + r];
        }
    }
    for (; c < columns; ++c)
        for (int64 r = 0; r < rows; ++r) to[r * pitch + c] = from[c * stride + r];
}

// ingot: spread
// Fills each row with n copies of one value. Up to seven elements past the last row are
// overwritten, too.
template <typename T, typename To>
inline void spread(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 row = 0; row < rows; ++row) {
        const To value = To(from[row * stride]);
        for (int64 i = 0; i < n; i += 8)
            for (int64 k = 0; k < 8; ++k) to[row * n + i + k] = value;
    }
}

// ingot: repeat
// Repeats a row of n elements.
template <typename T, typename To>
inline void repeat(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = To(from[i * stride]);
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}

// ingot: in_aligned_pieces
// As in_pieces, for chunks that end at multiples of their size: the first and the last may be
// shorter.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_aligned_pieces(int64 begin, int64 end,
                                                             const Work& work) {
    int64 first = begin;
    if (first % size != 0 && first < end) {
        const int64 next = smaller_of(first / size * size + size, end);
        work(first, Part<size>{next - first});
        first = next;
    }
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// ingot: combined
// Combines the accumulators (`classes`) of a row as a tree: the two halves first. Whole vectors are
// combined as long as possible.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined<Kind>(half);
    }
}

// ingot: combined_choice
// As `combined`, for a reduction that selects one of two values. The last two are combined in both
// orders, as a vector: for single numbers GCC would make a branch, mispredicted for half of the
// rows.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined_choice(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else if constexpr (n == 2) {
        T both[4];
#pragma omp simd
        for (int k = 0; k < 4; ++k) both[k] = Kind::of(classes[k & 1], classes[1 - (k & 1)]);
        return both[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined_choice<Kind>(half);
    }
}

// ingot: combined_found
// As `combined`, for a reduction that finds a value and its index.
template <typename Kind, typename T, typename I, int n>
inline Found<T, I> combined_found(T (&values)[n], I (&indices)[n]) {
    for (int step = n / 2; step > 0; step /= 2) {
#pragma omp simd
        for (int k = 0; k < step; ++k)
            Kind::take(values[k], indices[k], values[k + step], indices[k + step]);
    }
    return {values[0], indices[0]};
}

// ingot: combine_rows
// As `combined`, for adjacent rows at once.
template <typename Kind, typename T, int n, int rows>
inline void combine_rows(T (&classes)[n][rows], T (&found)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                classes[c][k] = Kind::of(classes[c][k], classes[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = classes[0][k];
}

// ingot: combine_found_rows
// As `combined_found`, for adjacent rows at once: the values and the indices.
template <typename Kind, typename T, typename I, int n, int rows>
inline void combine_found_rows(T (&values)[n][rows], I (&indices)[n][rows], T (&found)[rows],
                               I (&at)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                Kind::take(values[c][k], indices[c][k], values[c + step][k], indices[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = values[0][k], at[k] = indices[0][k];
}
