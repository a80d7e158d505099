// def shifted(x):
//     return x[:, 1:] - x[:, :-1], x.flip(-1)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

extern "C" void shifted(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x_1 = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1
    const float* __restrict x_0 = argument<const float*>(arguments[1]);  // at i0 * x_stride0 + i1
    float* __restrict out0 = argument<float*>(arguments[2]);             // contiguous
    const int64 n1 = argument<int64>(arguments[3]);                      // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_1_row = x_1 + i0 * x_stride0;
        const auto x_0_row = x_0 + i0 * x_stride0;
        const auto out0_row = out0 + row;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out0_row[i1] = x_1_row[i1] - x_0_row[i1];
        }
        i += last - first;
    }
}

extern "C" void shifted_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1 * x_stride1
    float* __restrict out1 = argument<float*>(arguments[1]);           // contiguous
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[3]);
    const int64 x_stride1 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto x_row = x + i0 * x_stride0;
        const auto out1_row = out1 + row;
#pragma omp simd
        for (int64 i1 = first; i1 < last; ++i1) {
            out1_row[i1] = x_row[i1 * x_stride1];
        }
        i += last - first;
    }
}
