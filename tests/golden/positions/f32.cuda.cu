// def shifted(x):
//     return x[:, 1:] - x[:, :-1], x.flip(-1)

using uint32 = unsigned;

extern "C" __global__ void __launch_bounds__(256) shifted(
        const float* __restrict__ x_1,  // at i0 * x_stride0 + i1
        const float* __restrict__ x_0,  // at i0 * x_stride0 + i1
        float* __restrict__ out0,       // contiguous
        const int n,                    // elements
        const uint32 n1,                // of i1
        const int x_stride0) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    out0[i] = x_1[i0 * x_stride0 + i1] - x_0[i0 * x_stride0 + i1];
}

extern "C" __global__ void __launch_bounds__(256) shifted_1(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1 * x_stride1
        float* __restrict__ out1,     // contiguous
        const int n,                  // elements
        const uint32 n1,              // of i1
        const int x_stride0,
        const int x_stride1) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    out1[i] = x[i0 * x_stride0 + i1 * x_stride1];
}
