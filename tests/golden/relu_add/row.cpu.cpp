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

extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // at i1
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                    // extent of i1

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const auto x_row = x + row;
        const auto out_row = out + row;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = maximum(0.0f, x_row[i1]) + y[i1] + bias;
        }
        i += last - first;
    }
}
