// def quantise(x, scale, zero):
//     q = clamp(round(x / scale) + zero, 0, 255).to(torch.uint8)
//     return q, (q.float() - zero) * scale
//
// prelude: uint8 int64 Vec load store load_until store_until maximum minimum

// where: n = x.size(0)
// requires: x.dtype == f32, x.dim() == 1, x.is_contiguous(), aligned(x, 16)
// requires: scale.dtype == f32, scale.dim() == 1, scale.size(0) == 1, scale.is_contiguous()
// requires: out0.dtype == u8, out0.dim() == 1, out0.size(0) == x.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, x, scale, out1), no_overlap(out1, x, scale)
// requires: 1 <= n <= 2147418111
// launch: entry=quantise, grid=ceil(n / 512), block=128, args=x, scale, zero, out0, out1, n
extern "C" __global__ void __launch_bounds__(128) quantise(
        const float* __restrict__ x,      // contiguous
        const float* __restrict__ scale,  // one element
        const float zero,
        uint8* __restrict__ q,            // contiguous
        float* __restrict__ out1,         // contiguous
        const int n) {                    // elements
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4;
    if (whole) {
        x4 = load<4>(x, i);
    } else {
        x4 = load_until<4>(x, i, n);
    }
    const float scale_value = scale[0];
    Vec<uint8, 4> q4;
    Vec<float, 4> out1_4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float v1 = maximum(0.0f, nearbyintf(x4[k] / scale_value) + zero);
        const uint8 q_1 = uint8(int64(minimum(255.0f, v1)));
        q4[k] = q_1;
        out1_4[k] = (float(q_1) - zero) * scale_value;
    }
    if (whole) {
        store(q, i, q4);
        store(out1, i, out1_4);
    } else {
        store_until(q, i, n, q4);
        store_until(out1, i, n, out1_4);
    }
}
