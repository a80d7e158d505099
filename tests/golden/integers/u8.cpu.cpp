// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b
//
// prelude: uint8 int64 argument is_below_zero quotient rest integer_floor_divide integer_remainder shift_left shift_right

// requires: a.size(0) == b.size(0)
// requires: a.dtype == u8, a.dim() == 1, a.is_contiguous()
// requires: b.dtype == u8, b.dim() == 1, b.is_contiguous()
// requires: out0.dtype == u8, out0.dim() == 1, out0.size(0) == a.size(0), out0.is_contiguous()
// requires: out1.dtype == u8, out1.dim() == 1, out1.size(0) == a.size(0), out1.is_contiguous()
// requires: no_overlap(out0, a, b, out1), no_overlap(out1, a, b)
// requires: a.size(0) >= 1
// launch: entry=mix, units=a.size(0), args=a, b, out0, out1
extern "C" void mix(const void* const* arguments, int64 begin, int64 end) {
    const uint8* __restrict a = argument<const uint8*>(arguments[0]);  // contiguous
    const uint8* __restrict b = argument<const uint8*>(arguments[1]);  // contiguous
    uint8* __restrict out0 = argument<uint8*>(arguments[2]);           // contiguous
    uint8* __restrict out1 = argument<uint8*>(arguments[3]);           // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const uint8 a_i = a[i];
        const uint8 low = uint8(a_i & 15);
        const uint8 high = shift_right<uint8>(a_i, 4);
        const uint8 b_i = b[i];
        const uint8 v1 = integer_remainder<uint8>(uint8(uint8(low * 3) + high), 7);
        out0[i] = uint8(v1 + integer_floor_divide<uint8>(b_i, 2));
        out1[i] = uint8(shift_left<uint8>(a_i, 1) ^ b_i);
    }
}
