// def lerp_noise(x, noise, t: float, steps: int = 10, flip: bool = False):
//     a = 1 - t / steps
//     return a ** 0.5 * x + (1 - a) ** 0.5 * noise * (-1 if flip else 1), x / t

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void lerp_noise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict x = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict noise = argument<const float*>(arguments[1]);  // contiguous
    const float s1 = argument<float>(arguments[2]);                        // (1 - t / steps) ** 0.5
    const float s2 = argument<float>(arguments[3]);                        // (1 - (1 - t / steps)) ** 0.5
    const float t = argument<float>(arguments[4]);
    float* __restrict out0 = argument<float*>(arguments[5]);               // contiguous
    float* __restrict out1 = argument<float*>(arguments[6]);               // contiguous

#pragma omp simd simdlen(8)
    for (int64 i = begin; i < end; ++i) {
        const float x_i = x[i];
        out0[i] = s1 * x_i + s2 * noise[i];
        out1[i] = x_i / t;
    }
}
