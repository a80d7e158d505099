// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b
//
// prelude: uint8 Vec load store load_until store_until is_below_zero integer_floor_divide integer_remainder shift_left shift_right

// where: n = a.size(0)
// requires: a.size(0) == b.size(0)
// requires: a.dtype == u8, a.dim() == 1, a.is_contiguous(), aligned(a, 16)
// requires: b.dtype == u8, b.dim() == 1, b.is_contiguous(), aligned(b, 16)
// requires: out0.dtype == u8, out0.dim() == 1, out0.size(0) == a.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == u8, out1.dim() == 1, out1.size(0) == a.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, a, b, out1), no_overlap(out1, a, b)
// requires: 1 <= n <= 2147418111
// launch: entry=mix, grid=ceil(n / 1024), block=128, args=a, b, out0, out1, n
extern "C" __global__ void __launch_bounds__(128) mix(
        const uint8* __restrict__ a,  // contiguous
        const uint8* __restrict__ b,  // contiguous
        uint8* __restrict__ out0,     // contiguous
        uint8* __restrict__ out1,     // contiguous
        const int n) {                // elements
    const int i = 8 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 8 <= n;

    Vec<uint8, 8> a8, b8;
    if (whole) {
        a8 = load<8>(a, i);
        b8 = load<8>(b, i);
    } else {
        a8 = load_until<8>(a, i, n);
        b8 = load_until<8>(b, i, n);
    }
    Vec<uint8, 8> out0_8, out1_8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint8 low = uint8(a8[k] & 15);
        const uint8 high = shift_right<uint8>(a8[k], 4);
        const uint8 v1 = integer_remainder<uint8>(uint8(uint8(low * 3) + high), 7);
        out0_8[k] = uint8(v1 + integer_floor_divide<uint8>(b8[k], 2));
        out1_8[k] = uint8(shift_left<uint8>(a8[k], 1) ^ b8[k]);
    }
    if (whole) {
        store(out0, i, out0_8);
        store(out1, i, out1_8);
    } else {
        store_until(out0, i, n, out0_8);
        store_until(out1, i, n, out1_8);
    }
}
