// def corners(boxes):  # centre and size to corners
//     cx, cy, w, h = boxes.unbind(-1)
//     return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void corners(const void* const* arguments, int64 begin, int64 end) {
    const double* __restrict boxes = argument<const double*>(arguments[0]);  // at i * 4 + 0..3
    double* __restrict out = argument<double*>(arguments[1]);                // at i * 4 + 0..3

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const double cx = boxes[i * 4];
        const double w = boxes[i * 4 + 2];
        const double v1 = 0.5 * w;
        const double cy = boxes[i * 4 + 1];
        const double h = boxes[i * 4 + 3];
        const double v2 = 0.5 * h;
        out[i * 4] = cx - v1;
        out[i * 4 + 1] = cy - v2;
        out[i * 4 + 2] = cx + v1;
        out[i * 4 + 3] = cy + v2;
    }
}
