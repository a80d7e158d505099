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
    const float* __restrict boxes = argument<const float*>(arguments[0]);  // at i * 4 + 0..3
    float* __restrict out = argument<float*>(arguments[1]);                // at i * 4 + 0..3

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float cx = boxes[i * 4];
        const float w = boxes[i * 4 + 2];
        const float v1 = 0.5f * w;
        const float cy = boxes[i * 4 + 1];
        const float h = boxes[i * 4 + 3];
        const float v2 = 0.5f * h;
        out[i * 4] = cx - v1;
        out[i * 4 + 1] = cy - v2;
        out[i * 4 + 2] = cx + v1;
        out[i * 4 + 3] = cy + v2;
    }
}
