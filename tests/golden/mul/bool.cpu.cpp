// x * y

using uint8 = unsigned char;

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const uint8* __restrict x = argument<const uint8*>(arguments[0]);  // bool, contiguous
    const uint8* __restrict y = argument<const uint8*>(arguments[1]);  // bool, contiguous
    bool* __restrict out = argument<bool*>(arguments[2]);              // bool, contiguous

#pragma omp simd simdlen(32)
    for (int64 i = begin; i < end; ++i) {
        out[i] = (x[i] != 0) & (y[i] != 0);
    }
}
