// def corners(boxes):  # centre and size to corners
//     cx, cy, w, h = boxes.unbind(-1)
//     return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)
//
// prelude: int64 argument

// requires: boxes.size(1) == 4
// requires: boxes.dtype == f32, boxes.dim() == 2, boxes.is_contiguous()
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == boxes.size(0), out.size(1) == 4, out.is_contiguous()
// requires: no_overlap(out, boxes)
// requires: boxes.size(0) >= 1
// launch: entry=corners, units=boxes.size(0), args=boxes, out
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
