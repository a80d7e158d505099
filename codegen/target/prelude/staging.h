// Staging in generated CPU kernels: copies of operands to buffers in which their elements have the
// order of a loop.

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
// Fills each row of n elements with copies of one value. Up to seven elements after the last row
// are overwritten, too.
template <typename T, typename To>
inline void spread(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 row = 0; row < rows; ++row) {
        const To value = To(from[row * stride]);
        for (int64 i = 0; i < n; i += 8)
            for (int64 k = 0; k < 8; ++k) to[row * n + i + k] = value;
    }
}

// ingot: repeat
// Fills all rows with copies of one row of n elements.
template <typename T, typename To>
inline void repeat(const T* from, int64 stride, To* to, int64 rows, int64 n) {
    for (int64 i = 0; i < n; ++i) to[i] = To(from[i * stride]);
    for (int64 i = n; i < rows * n; ++i) to[i] = to[i - n];
}
