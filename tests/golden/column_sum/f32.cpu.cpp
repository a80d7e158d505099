// def column_sum(x, y):
//     return (x * y).sum(0)

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

extern "C" void column_sum(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at row + i * x_stride1
    const float* __restrict y = argument<const float*>(arguments[1]);  // at row + i * y_stride1
    float* found = argument<float*>(arguments[2]);                     // what was found of pieces
    const int64 n1 = argument<int64>(arguments[3]);                    // of i1
    const int64 x_stride1 = argument<int64>(arguments[4]);
    const int64 y_stride1 = argument<int64>(arguments[5]);

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 piece = unit % ((n1 + 4095) / 4096);
        const int64 row = unit / ((n1 + 4095) / 4096);
        const auto x_row = x + row;
        const auto y_row = y + row;
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = piece * 4096;
        const int64 to = smaller_of(from + 4096, n1);
        in_aligned_pieces<64>(from, to, [&](int64 first, int64 count) __attribute__((always_inline)) {
            const int64 base = first / 64 * 64;
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                sum_of[i - base] = sum_of[i - base] + x_row[i * x_stride1] * y_row[i * y_stride1];
            }
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

extern "C" void column_sum_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // at row
    float* found = argument<float*>(arguments[1]);           // what was found of pieces
    const int64 n1 = argument<int64>(arguments[2]);          // of i1

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 piece = 0; piece < (n1 + 4095) / 4096; ++piece) {
            sum_of[piece % 64] = sum_of[piece % 64] + found[row * ((n1 + 4095) / 4096) + piece];
        }
        const float sum = combined<Sum>(sum_of);
        out[row] = sum;
    }
}
