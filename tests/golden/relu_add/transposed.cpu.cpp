// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

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

extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i0 + i1 * y_stride1
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n0 = argument<int64>(arguments[4]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[5]);                    // extent of i1
    const int64 y_stride1 = argument<int64>(arguments[6]);

    const int64 tiles1 = (n1 + 63) / 64;
    for (int64 t = begin; t < end; ++t) {
        const int64 first1 = t % tiles1 * 64;
        const int64 last1 = smaller_of(first1 + 64, n1);
        const int64 first0 = t / tiles1 * 64;
        const int64 last0 = smaller_of(first0 + 64, n0);
        float y_tile[4096];
        transpose(y + first0 + first1 * y_stride1, y_stride1, y_tile, 64, last0 - first0, last1 - first1);
        for (int64 i0 = first0; i0 < last0; ++i0) {
            const int64 row = i0 * n1;
            const auto y_row = y_tile + (i0 - first0) * 64;
            const auto x_row = x + row;
            const auto out_row = out + row;
#pragma omp simd simdlen(8)
            for (int64 i1 = first1; i1 < last1; ++i1) {
                out_row[i1] = maximum(0.0f, x_row[i1]) + y_row[i1 - first1] + bias;
            }
        }
    }
}
