// GIoU loss by an expert: one box per thread, with one 16-byte load per box. Predictions for padding are not read.
// Minimum and maximum propagate NaN, as in PyTorch. pred and target must be aligned to 16 bytes.
//
//   python examples/detections.py build/boxes.pt --images 160000 --float
//   ingot compare examples/giou.py:giou --against examples/handwritten/giou_expert.cu
//     pred=build/boxes.pt:pred target=build/boxes.pt:target
//
// launch: grid=ceil(n / 256), block=256, args=pred, target, eps, out, n
__device__ float larger(float a, float b) {
  float larger;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
  return larger;
}

__device__ float smaller(float a, float b) {
  float smaller;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(smaller) : "f"(a), "f"(b));
  return smaller;
}

__device__ float area(float4 box) { return (box.z - box.x) * (box.w - box.y); }

extern "C" __global__ void giou_by_box(const float4* __restrict__ pred, const float4* __restrict__ target, float eps,
                                       float* __restrict__ loss, int boxes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= boxes) return;
  const float4 t = target[i];
  const float area_t = area(t);
  if (!(area_t > 0.0f)) {
    loss[i] = 0.0f;
    return;
  }
  const float4 p = pred[i];
  const float w = larger(smaller(p.z, t.z) - larger(p.x, t.x), 0.0f);
  const float h = larger(smaller(p.w, t.w) - larger(p.y, t.y), 0.0f);
  const float overlap = w * h;
  const float union_area = area(p) + area_t - overlap;
  const float hull_w = larger(larger(p.z, t.z) - smaller(p.x, t.x), 0.0f);
  const float hull_h = larger(larger(p.w, t.w) - smaller(p.y, t.y), 0.0f);
  const float hull = hull_w * hull_h;
  loss[i] = 1.0f - (overlap / (union_area + eps) - (hull - union_area) / (hull + eps));
}
