// def moved(x):
//     return x.roll(1, -1)

using uint32 = unsigned;

extern "C" __global__ void __launch_bounds__(256) moved(
        const float* __restrict__ x,  // at i * x_stride
        float* __restrict__ out,      // at i * out_stride
        const int n,                  // elements
        const int x_stride,
        const int out_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    out[i * out_stride] = x[i * x_stride];
}

extern "C" __global__ void __launch_bounds__(256) moved_1(
        const float* __restrict__ x,  // at i0 * x_stride0 + i1
        float* __restrict__ out,      // at i0 * out_stride0 + i1
        const int n,                  // elements
        const uint32 n1,              // of i1
        const int x_stride0,
        const int out_stride0) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    out[i0 * out_stride0 + i1] = x[i0 * x_stride0 + i1];
}
