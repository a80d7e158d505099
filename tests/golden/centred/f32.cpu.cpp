// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)

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

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// Combines the accumulators (`classes`) of a row as a tree: each round combines the first half with
// the second half, as vectors.
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

// As `combined`, for adjacent rows at once.
template <typename Kind, typename T, int n, int rows>
inline void combine_rows(T (&classes)[n][rows], T (&found)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                classes[c][k] = Kind::of(classes[c][k], classes[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = classes[0][k];
}

extern "C" void centred(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict h = argument<float*>(arguments[2]);              // contiguous
    float* __restrict workspace = argument<float*>(arguments[3]);      // at row
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        const auto y_row = y + row * n1;
        const auto h_row = h + row * n1;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float x_k = valid ? x_row[first + k] : 0.0f;
                const float h_1 = x_k + (valid ? y_row[first + k] : 0.0f);
                sum_of[k] = valid ? sum_of[k] + h_1 : sum_of[k];
                if (valid) {
                    h_row[first + k] = h_1;
                }
            });
        });
        const float sum = combined<Sum>(sum_of);
        workspace[row] = sum;
    }
}

extern "C" void centred_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);          // at row + k + i * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);  // at i
    const float* __restrict y = argument<const float*>(arguments[2]);          // at row + k + i * y_stride1
    const float s1 = argument<float>(arguments[3]);                            // float(x.size(1))
    float* __restrict out1 = argument<float*>(arguments[4]);                   // at row + k
    const int64 n0 = argument<int64>(arguments[5]);                            // extent of i0
    const int64 n1 = argument<int64>(arguments[6]);                            // extent of i1
    const int64 x_stride1 = argument<int64>(arguments[7]);
    const int64 y_stride1 = argument<int64>(arguments[8]);

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
            for (int64 i = 0; i < n1; ++i) {
                const float v1 = workspace[i] / s1;
                const int64 class_of_i = i % 64;
#pragma omp simd
                for (int64 k = 0; k < rows; ++k) {
                    const float h = x[row + k + i * x_stride1] + y[row + k + i * y_stride1];
                    sum_of[class_of_i][k] = sum_of[class_of_i][k] + (h - v1);
                }
            }
            float sum[64];
            combine_rows<Sum>(sum_of, sum);
#pragma omp simd
            for (int64 k = 0; k < rows; ++k) {
                out1[row + k] = sum[k];
            }
        });
    }
}
