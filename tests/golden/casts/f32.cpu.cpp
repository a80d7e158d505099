// def quantise(x, scale, zero):
//     q = clamp(round(x / scale) + zero, 0, 255).to(torch.uint8)
//     return q, (q.float() - zero) * scale

extern "C" float nearbyintf(float) noexcept;

using uint8 = unsigned char;

using int64 = long long;

// A zero whose value the compiler does not know.
static const int unknown_zero = [] {
    int zero = 0;
    asm("" : "+r"(zero));
    return zero;
}();

template <typename T>
inline int64 to_int64(T a) {
    return int64(a + T(unknown_zero)) + unknown_zero;
}

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

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T minimum(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
}

extern "C" void quantise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict scale = argument<const float*>(arguments[1]);  // one element
    const float zero = argument<float>(arguments[2]);
    uint8* __restrict q = argument<uint8*>(arguments[3]);                  // contiguous
    float* __restrict out1 = argument<float*>(arguments[4]);               // contiguous

    const float scale_value = scale[0];
#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float v1 = maximum(0.0f, nearbyintf(x[i] / scale_value) + zero);
        const uint8 q_1 = uint8(to_int64(minimum(255.0f, v1)));
        q[i] = q_1;
        out1[i] = (float(q_1) - zero) * scale_value;
    }
}
