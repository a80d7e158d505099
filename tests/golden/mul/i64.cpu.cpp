// x * y

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }

inline int64 multiply(int64 a, int64 b) {
    return int64((unsigned long long)a * (unsigned long long)b);
}

extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const int64* __restrict x = argument<const int64*>(arguments[0]);  // contiguous
    const int64* __restrict y = argument<const int64*>(arguments[1]);  // contiguous
    int64* __restrict out = argument<int64*>(arguments[2]);            // contiguous

#pragma omp simd simdlen(4)
    for (int64 i = begin; i < end; ++i) {
        out[i] = multiply(x[i], y[i]);
    }
}
