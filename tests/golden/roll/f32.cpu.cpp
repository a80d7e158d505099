// def moved(x):
//     return x.roll(1, -1)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

extern "C" void moved(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i * x_stride
    float* __restrict out = argument<float*>(arguments[1]);            // at i * out_stride
    const int64 x_stride = argument<int64>(arguments[2]);
    const int64 out_stride = argument<int64>(arguments[3]);

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        out[i * out_stride] = x[i * x_stride];
    }
}

extern "C" void moved_1(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // at i0 * x_stride0 + i1
    float* __restrict out = argument<float*>(arguments[1]);            // at i0 * out_stride0 + i1
    const int64 n1 = argument<int64>(arguments[2]);                    // extent of i1
    const int64 x_stride0 = argument<int64>(arguments[3]);
    const int64 out_stride0 = argument<int64>(arguments[4]);

    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 i0 = i / n1;
        const auto x_row = x + i0 * x_stride0;
        const auto out_row = out + i0 * out_stride0;
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            out_row[i1] = x_row[i1];
        }
        i += last - first;
    }
}
