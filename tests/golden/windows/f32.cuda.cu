// def windows(x):
//     return x.unfold(-1, 3, 2) * 2, x.diagonal() * 2

using uint32 = unsigned;

extern "C" __global__ void __launch_bounds__(256) windows(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1 * x_stride1 + i2
        float* __restrict__ out0,     // contiguous
        const int n,                  // elements
        const uint32 n1,              // of i1
        const uint32 n2,              // of i2
        const int x_stride0,
        const int x_stride1) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const int i2 = i % n2;
    const int i1 = i / n2 % n1;
    const int i0 = i / n2 / n1;

    out0[i] = x[i0 * x_stride0 + i1 * x_stride1 + i2] * 2.0f;
}

extern "C" __global__ void __launch_bounds__(256) windows_1(
        const float* __restrict__ x,  // at i * x_stride
        float* __restrict__ out1,     // contiguous
        const int n,                  // elements
        const int x_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    out1[i] = x[i * x_stride] * 2.0f;
}
