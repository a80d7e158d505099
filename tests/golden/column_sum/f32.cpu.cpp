// def column_sum(x, y):
//     return (x * y).sum(0)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

struct Sum {
    template <typename T>
    static inline T of(T a, T b) {
        return a + b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// A count known at compile time.
template <int64 n>
struct Whole {
    constexpr operator int64() const { return n; }
};

// A count known at run time that is below n.
template <int64 n>
struct Part {
    int64 number;
    operator int64() const { return number; }
};

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// As `combined`, for adjacent rows at once.
template <typename Kind, typename T, int n, int rows>
inline void combine_rows(T (&classes)[n][rows], T (&found)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                classes[c][k] = Kind::of(classes[c][k], classes[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = classes[0][k];
}

extern "C" void column_sum(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at row + k + i * x_stride1
    const float* __restrict y = argument<const float*>(arguments[1]);  // at row + k + i * y_stride1
    float* found = argument<float*>(arguments[2]);                     // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);                    // extent of i0
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[5]);
    const int64 y_stride1 = argument<int64>(arguments[6]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 units_of_chunk = (n0 + 63) / 64;
        const int64 chunk = unit / units_of_chunk;
        const int64 from_row = unit % units_of_chunk * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
            }
            const int64 from = chunk * 1024;
            const int64 to = smaller_of(from + 1024, n1);
            for (int64 i = from; i < to; ++i) {
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float v1 = x[row + k + i * x_stride1] * y[row + k + i * y_stride1];
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + v1;
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                found[chunk * n0 + (row + k)] = sum[k];
            }
        });
    }
}

extern "C" void column_sum_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // at row + k
    float* found = argument<float*>(arguments[1]);           // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);          // extent of i0
    const int64 n1 = argument<int64>(arguments[3]);          // extent of i1

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 from_row = unit * 64;
        const int64 to_row = smaller_of(from_row + 64, n0);
        in_pieces<64>(from_row, to_row, [&](int64 row, auto rows) __attribute__((always_inline)) {
            float sum_of[64][64];
            for (int c = 0; c < 64; ++c) {
                for (int64 k = 0; k < 64; ++k) {
                    sum_of[c][k] = 0.0f;
                }
            }
            for (int64 chunk = 0; chunk < (n1 + 1023) / 1024; ++chunk) {
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    sum_of[chunk % 64][k] = sum_of[chunk % 64][k] + found[chunk * n0 + (row + k)];
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                out[row + k] = sum[k];
            }
        });
    }
}
