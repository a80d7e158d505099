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

extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i0
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    const int64 most = 1024 / n1;
    float y_chunk[1032];
    for (int64 i0 = begin; i0 < end;) {
        const int64 rows = smaller_of(most, end - i0);
        const auto x_rows = x + i0 * n1;
        const auto y_rows = y + i0;
        const auto out_rows = out + i0 * n1;
        spread(y_rows, 1, y_chunk, rows, n1);
#pragma omp simd simdlen(8)
        for (int64 i = 0; i < rows * n1; ++i) {
            out_rows[i] = maximum(0.0f, x_rows[i]) + y_chunk[i] + bias;
        }
        i0 += rows;
    }
}
