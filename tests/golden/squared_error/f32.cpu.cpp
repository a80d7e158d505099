// def squared_error(x, y):
//     return mean((x - y) ** 2)

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

// Has work(first, count) done for pieces of [begin, end); of all but the last, the compiler knows
// the count.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, size);
    if (first < end) work(first, end - first);
}

// What was found of the classes of a row, as one: along the bits of their numbers, highest first,
// so that vectors are combined as long as there are some.
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

extern "C" void squared_error(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* found = argument<float*>(arguments[2]);                     // what was found of pieces
    const int64 n0 = argument<int64>(arguments[3]);                    // of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 piece = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = piece * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, int64 count) __attribute__((always_inline)) {
#pragma omp simd
            for (int64 k = 0; k < count; ++k) {
                const float v1 = x[first + k] - y[first + k];
                sum_of[k] = sum_of[k] + v1 * v1;
            }
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

extern "C" void squared_error_rest(const void* const* arguments, int64 begin, int64 end) {
    const float s1 = argument<float>(arguments[0]);          // float(x.size(0)*x.size(1))
    float* __restrict out = argument<float*>(arguments[1]);  // one element
    float* found = argument<float*>(arguments[2]);           // what was found of pieces
    const int64 n0 = argument<int64>(arguments[3]);          // of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 piece = 0; piece < (n0 + 1023) / 1024; ++piece) {
            sum_of[piece % 64] = sum_of[piece % 64] + found[row * ((n0 + 1023) / 1024) + piece];
        }
        const float sum = combined<Sum>(sum_of);
        out[0] = sum / s1;
    }
}
