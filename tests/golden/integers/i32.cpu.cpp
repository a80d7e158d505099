// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b
//
// prelude: int64 argument add multiply is_below_zero quotient rest integer_floor_divide integer_remainder shift_left shift_right

// requires: a.size(0) == b.size(0)
// requires: a.dtype == i32, a.dim() == 1, a.is_contiguous()
// requires: b.dtype == i32, b.dim() == 1, b.is_contiguous()
// requires: out0.dtype == i32, out0.dim() == 1, out0.size(0) == a.size(0), out0.is_contiguous()
// requires: out1.dtype == i32, out1.dim() == 1, out1.size(0) == a.size(0), out1.is_contiguous()
// requires: no_overlap(out0, a, b, out1), no_overlap(out1, a, b)
// requires: a.size(0) >= 1
// launch: entry=mix, units=a.size(0), args=a, b, out0, out1
extern "C" void mix(const void* const* arguments, int64 begin, int64 end) {
    const int* __restrict a = argument<const int*>(arguments[0]);  // contiguous
    const int* __restrict b = argument<const int*>(arguments[1]);  // contiguous
    int* __restrict out0 = argument<int*>(arguments[2]);           // contiguous
    int* __restrict out1 = argument<int*>(arguments[3]);           // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const int a_i = a[i];
        const int low = a_i & 15;
        const int high = shift_right(a_i, 4);
        const int b_i = b[i];
        const int v1 = integer_remainder(add(multiply(low, 3), high), 7);
        out0[i] = add(v1, integer_floor_divide(b_i, 2));
        out1[i] = shift_left(a_i, 1) ^ b_i;
    }
}
