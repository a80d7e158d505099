// x * y

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict out = argument<float*>(arguments[2]);            // contiguous

#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        out[i] = x[i] * y[i];
    }
}
