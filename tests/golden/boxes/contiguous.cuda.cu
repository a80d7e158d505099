// def corners(boxes):  # centre and size to corners
//     cx, cy, w, h = boxes.unbind(-1)
//     return torch.stack([cx - 0.5 * w, cy - 0.5 * h, cx + 0.5 * w, cy + 0.5 * h], -1)
//
// prelude: Vec load store

// where: n = boxes.size(0)
// requires: boxes.size(1) == 4
// requires: boxes.dtype == f32, boxes.dim() == 2, boxes.is_contiguous(), aligned(boxes, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == boxes.size(0), out.size(1) == 4, out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, boxes)
// requires: 1 <= n <= 2147418111, boxes.size(0)*4 - 3 <= 2147483647
// launch: entry=corners, grid=ceil(n / 256), block=256, args=boxes, out, n, 4, 4
extern "C" __global__ void __launch_bounds__(256) corners(
        const float* __restrict__ boxes,  // at i * boxes_stride + 0..3
        float* __restrict__ out,          // at i * out_stride + 0..3
        const int n,                      // elements
        const int boxes_stride,
        const int out_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    const auto boxes4 = load<4>(boxes, i * boxes_stride);
    const float v1 = 0.5f * boxes4[2];
    const float v2 = 0.5f * boxes4[3];
    const float v3 = boxes4[0] - v1;
    const float v4 = boxes4[1] - v2;
    store(out, i * out_stride, Vec<float, 4>{v3, v4, boxes4[0] + v1, boxes4[1] + v2});
}
