// def causal(x):
//     return x.tril() * 2

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

extern "C" void causal(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    float* __restrict out = argument<float*>(arguments[1]);            // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 n2 = argument<int64>(arguments[3]);                    // extent of i2

    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const auto x_row = x + row;
        const auto out_row = out + row;
#pragma omp simd
        for (int64 i2 = first; i2 < last; ++i2) {
            const float x_i2 = x_row[i2];
            out_row[i2] = (i2 > i1 ? 0.0f : x_i2) * 2.0f;
        }
        i += last - first;
    }
}
