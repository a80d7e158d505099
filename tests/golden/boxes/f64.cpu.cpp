// def corners(boxes):  # centre and size to corners
//     cx, cy, w, h = boxes.unbind(-1)
//     return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)
//
// prelude: int64 argument

// requires: boxes.size(1) == 4
// requires: boxes.dtype == f64, boxes.dim() == 2, boxes.is_contiguous()
// requires: out.dtype == f64, out.dim() == 2, out.size(0) == boxes.size(0), out.size(1) == 4, out.is_contiguous()
// requires: no_overlap(out, boxes)
// requires: boxes.size(0) >= 1
// launch: entry=corners, units=boxes.size(0), args=boxes, out
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
