// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)

using int64 = long long;

// The value of an argument; each is passed by its address.
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

// The same for pieces that end at multiples of their size, wherever the first one begins.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_aligned_pieces(int64 begin, int64 end,
                                                             const Work& work) {
    int64 first = begin;
    if (first % size != 0 && first < end) {
        const int64 next = smaller_of(first / size * size + size, end);
        work(first, next - first);
        first = next;
    }
    for (; first + size <= end; first += size) work(first, size);
    if (first < end) work(first, end - first);
}

// What was found of the classes of a row, as one: along the bits of their numbers, lowest first.
template <typename Kind, typename T, int n>
inline T combined(T (&classes)[n]) {
    for (int step = 1; step < n; step *= 2)
        for (int k = 0; k + step < n; k += 2 * step)
            classes[k] = Kind::of(classes[k], classes[k + step]);
    return classes[0];
}

extern "C" void centred(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict h = argument<float*>(arguments[2]);              // contiguous
    float* __restrict workspace = argument<float*>(arguments[3]);      // at row
    const int64 n1 = argument<int64>(arguments[4]);                    // of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        const auto y_row = y + row * n1;
        const auto h_row = h + row * n1;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_aligned_pieces<64>(0, n1, [&](int64 first, int64 count) __attribute__((always_inline)) {
            const int64 base = first / 64 * 64;
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                const float h_1 = x_row[i] + y_row[i];
                sum_of[i - base] = sum_of[i - base] + h_1;
                h_row[i] = h_1;
            }
        });
        const float sum = combined<Sum>(sum_of);
        workspace[row] = sum;
    }
}

extern "C" void centred_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);          // at row + i * x_stride1
    const float* __restrict workspace = argument<const float*>(arguments[1]);  // at i
    const float* __restrict y = argument<const float*>(arguments[2]);          // at row + i * y_stride1
    const float s1 = argument<float>(arguments[3]);                            // float(x.size(1))
    float* __restrict out1 = argument<float*>(arguments[4]);                   // at row
    const int64 n1 = argument<int64>(arguments[5]);                            // of i1
    const int64 x_stride1 = argument<int64>(arguments[6]);
    const int64 y_stride1 = argument<int64>(arguments[7]);

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row;
        const auto y_row = y + row;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        in_aligned_pieces<64>(0, n1, [&](int64 first, int64 count) __attribute__((always_inline)) {
            const int64 base = first / 64 * 64;
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                const float h = x_row[i * x_stride1] + y_row[i * y_stride1];
                sum_of[i - base] = sum_of[i - base] + (h - workspace[i] / s1);
            }
        });
        const float sum = combined<Sum>(sum_of);
        out1[row] = sum;
    }
}
