// def normalise(x, mean, std):  # images: [n, c, h, w]
//     return (x / 255 - mean[:, None, None]) / std[:, None, None]
//
// prelude: uint8 int64 argument smaller_of

// where: n1 = x.size(1), n2 = x.size(2)*x.size(3)
// requires: x.size(1) == mean.size(0), x.size(1) == std.size(0)
// requires: x.dtype == u8, x.dim() == 4, x.is_contiguous()
// requires: mean.dtype == f32, mean.dim() == 1, mean.is_contiguous()
// requires: std.dtype == f32, std.dim() == 1, std.is_contiguous()
// requires: out.dtype == f32, out.dim() == 4, out.size(0) == x.size(0), out.size(1) == x.size(1),
//   out.size(2) == x.size(2), out.size(3) == x.size(3), out.is_contiguous()
// requires: no_overlap(out, x, mean, std)
// requires: x.size(0)*x.size(1)*x.size(2)*x.size(3) >= 1
// launch: entry=normalise, units=x.size(0)*x.size(1)*x.size(2)*x.size(3), args=x, mean, std, out, i64(n1), i64(n2)
extern "C" void normalise(const void* const* arguments, int64 begin, int64 end) {
    const uint8* __restrict x = argument<const uint8*>(arguments[0]);     // contiguous
    const float* __restrict mean = argument<const float*>(arguments[1]);  // at i1
    const float* __restrict std_ = argument<const float*>(arguments[2]);  // at i1
    float* __restrict out = argument<float*>(arguments[3]);               // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                       // extent of i1
    const int64 n2 = argument<int64>(arguments[5]);                       // extent of i2

    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const auto x_row = x + row;
        const auto mean_row = mean + i1;
        const auto std_row = std_ + i1;
        const auto out_row = out + row;
        const float mean_value = mean_row[0];
        const float std_value = std_row[0];
#pragma omp simd
        for (int64 i2 = first; i2 < last; ++i2) {
            out_row[i2] = (float(x_row[i2]) / 255.0f - mean_value) / std_value;
        }
        i += last - first;
    }
}
