// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b
//
// prelude: Vec load store in_steps load_until store_until add multiply is_below_zero integer_floor_divide integer_remainder shift_left shift_right

// where: n = a.size(0)
// requires: a.size(0) == b.size(0)
// requires: a.dtype == i32, a.dim() == 1, a.is_contiguous(), aligned(a, 16)
// requires: b.dtype == i32, b.dim() == 1, b.is_contiguous(), aligned(b, 16)
// requires: out0.dtype == i32, out0.dim() == 1, out0.size(0) == a.size(0), out0.is_contiguous(), aligned(out0, 16)
// requires: out1.dtype == i32, out1.dim() == 1, out1.size(0) == a.size(0), out1.is_contiguous(), aligned(out1, 16)
// requires: no_overlap(out0, a, b, out1), no_overlap(out1, a, b)
// requires: 1 <= n <= 2147418111
// launch: entry=mix, grid=ceil(n / 512), block=64, args=a, b, out0, out1, n
extern "C" __global__ void __launch_bounds__(64) mix(
        const int* __restrict__ a,  // contiguous
        const int* __restrict__ b,  // contiguous
        int* __restrict__ out0,     // contiguous
        int* __restrict__ out1,     // contiguous
        const int n) {              // elements
    const int first = 512 * blockIdx.x;

    in_steps<4, 64, 2>(first, n, [&](int i, bool whole) {
        Vec<int, 4> a4, b4;
        if (whole) {
            a4 = load<4>(a, i);
            b4 = load<4>(b, i);
        } else {
            a4 = load_until<4>(a, i, n);
            b4 = load_until<4>(b, i, n);
        }
        Vec<int, 4> out0_4, out1_4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int low = a4[k] & 15;
            const int high = shift_right(a4[k], 4);
            const int v1 = integer_remainder(add(multiply(low, 3), high), 7);
            out0_4[k] = add(v1, integer_floor_divide(b4[k], 2));
            out1_4[k] = shift_left(a4[k], 1) ^ b4[k];
        }
        if (whole) {
            store(out0, i, out0_4);
            store(out1, i, out1_4);
        } else {
            store_until(out0, i, n, out0_4);
            store_until(out1, i, n, out1_4);
        }
    });
}
