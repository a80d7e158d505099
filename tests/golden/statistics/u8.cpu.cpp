// def normalise(x, mean, std):  # images: [n, c, h, w]
//     return (x / 255 - mean[:, None, None]) / std[:, None, None]

using uint8 = unsigned char;

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

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
