// def threadIdx(float4, i, n, NULL, half: float):
//     """A text that ends a comment */, a line \ .
//     and a trigraph ? ?/
//     """
//     k = float4 * half
//     λ = k + i
//     return λ / (n + abs(k)) + NULL

extern "C" float fabsf(float) noexcept;

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void threadIdx_(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict float4_ = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict i = argument<const float*>(arguments[1]);        // contiguous
    const float* __restrict n = argument<const float*>(arguments[2]);        // contiguous
    const float* __restrict NULL_ = argument<const float*>(arguments[3]);    // contiguous
    const float half = argument<float>(arguments[4]);
    float* __restrict out = argument<float*>(arguments[5]);                  // contiguous

#pragma omp simd simdlen(8)
    for (int64 i_1 = begin; i_1 < end; ++i_1) {
        const float k = float4_[i_1] * half;
        const float lambda = k + i[i_1];
        out[i_1] = lambda / (n[i_1] + fabsf(k)) + NULL_[i_1];
    }
}
