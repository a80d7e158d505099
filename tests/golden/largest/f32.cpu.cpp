// def largest(x):
//     value, index = x.max(1)
//     return value * 2, index

using int64 = long long;

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

constexpr float inf = __builtin_inff();

// Of two values the larger one, and where it is; of equal ones the first. NaN is larger than any.
template <typename T, typename I, typename Found>
inline void take_larger(T& best, I& index, Found found, I at) {
    const T value = found;
    const bool is_same = value == best || (value != value && best != best);
    const bool is_larger = value > best || (value != value && best == best);
    const bool taken = is_larger || (is_same && at < index);
    best = taken ? value : best;
    index = taken ? at : index;
}

struct FirstLargest {
    template <typename T, typename I>
    static inline void take(T& best, I& index, T value, I at) {
        take_larger(best, index, value, at);
    }
};

// A value, and where it is.
template <typename T, typename I>
struct Found {
    T value;
    I index;
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

template <typename Kind, typename T, typename I, int n>
inline Found<T, I> combined_found(T (&values)[n], I (&indices)[n]) {
    for (int step = 1; step < n; step *= 2)
        for (int k = 0; k + step < n; k += 2 * step)
            Kind::take(values[k], indices[k], values[k + step], indices[k + step]);
    return {values[0], indices[0]};
}

extern "C" void largest(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out0 = argument<float*>(arguments[1]);           // at row
    int64* __restrict index = argument<int64*>(arguments[2]);          // at row
    const int64 n1 = argument<int64>(arguments[3]);                    // of i1

    for (int64 row = begin; row < end; ++row) {
        const auto x_row = x + row * n1;
        float value_of[64];
        int64 index_1_of[64];
        for (int c = 0; c < 64; ++c) {
            value_of[c] = -inf;
            index_1_of[c] = 9223372036854775807LL;
        }
        in_aligned_pieces<64>(0, n1, [&](int64 first, int64 count) __attribute__((always_inline)) {
            const int64 base = first / 64 * 64;
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                take_larger(value_of[i - base], index_1_of[i - base], x_row[i], i);
            }
        });
        const auto [value, index_1] = combined_found<FirstLargest>(value_of, index_1_of);
        out0[row] = value * 2.0f;
        index[row] = index_1;
    }
}
