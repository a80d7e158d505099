// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

constexpr float inf = __builtin_inff();

// Keeps the larger of two values and its index; of equal values the one with the lower index. NaN
// is larger than any number.
template <typename T, typename I, typename Found>
inline void take_larger(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = (value == best) | ((value != value) & (best != best));
    const bool is_larger = (value > best) | ((value != value) & (best == best));
    const bool taken = is_larger | (is_same & (at < index));
    best = taken ? value : best;
    index = taken ? at : index;
}

struct FirstLargest {
    template <typename T, typename I>
    static inline void take(T& best, I& index, T value, I at) {
        take_larger(best, index, value, at);
    }
};

// A value and its index.
template <typename T, typename I>
struct Found {
    T value;
    I index;
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

extern "C" void largest(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out0 = argument<float*>(arguments[1]);           // at row
    int64* __restrict index = argument<int64*>(arguments[2]);          // at row
    const int64 n1 = argument<int64>(arguments[3]);                    // extent of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float value_of[64];
        int64 index_1_of[64];
        for (int c = 0; c < 64; ++c) {
            value_of[c] = -inf;
            index_1_of[c] = 9223372036854775807LL;
        }
        in_pieces<64>(0, n1, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid) __attribute__((always_inline)) {
                const float x_k = valid ? x_row[first + k] : 0.0f;
                if (valid) {
                    take_larger(value_of[k], index_1_of[k], x_k, first + k);
                }
            });
        });
        const auto [value, index_1] = combined_found<FirstLargest>(value_of, index_1_of);
        out0[row] = value * 2.0f;
        index[row] = index_1;
    }
}
