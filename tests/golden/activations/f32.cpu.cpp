// gelu(x + y) * sigmoid(y) + x

// Functions of the C library that have vector forms beside them (glibc's libmvec), within 4 ulp.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define INGOT_VECTOR __attribute__((simd("notinbranch"), const))
#else
#define INGOT_VECTOR
#endif

extern "C" INGOT_VECTOR float erff(float) noexcept;

extern "C" INGOT_VECTOR float expf(float) noexcept;

using int64 = long long;

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void expression(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);  // contiguous
    const float* __restrict y = argument<const float*>(arguments[1]);  // contiguous
    float* __restrict out = argument<float*>(arguments[2]);            // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float x_i = x[i];
        const float y_i = y[i];
        const float v1 = x_i + y_i;
        const float v2 = v1 * 0.5f * (1.0f + erff(v1 * 0.70710677f));
        out[i] = v2 * (1.0f / (1.0f + expf(-y_i))) + x_i;
    }
}
