// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

extern "C" void relu_add(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    const float bias = argument<float>(arguments[2]);
    float* __restrict out = argument<float*>(arguments[3]);            // contiguous

#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        out[i] = maximum(0.0f, x[i]) + y[i] + bias;
    }
}
