// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

// NaN if either is NaN; otherwise +0.0 is larger than -0.0.
__device__ inline float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

extern "C" __global__ void __launch_bounds__(1) relu_add(
        const float* __restrict__ x,  // one element
        const float* __restrict__ y,  // one element
        const float bias,
        float* __restrict__ out) {    // one element
    out[0] = maximum(0.0f, x[0]) + y[0] + bias;
}
