// GIoU loss as it is usually written: one box per thread, with eight scalar loads through a row pointer.
//
//   python examples/detections.py build/boxes.pt --images 160000 --float
//   ingot compare examples/giou.py:giou --against examples/handwritten/giou.cu
//     pred=build/boxes.pt:pred target=build/boxes.pt:target
//
// launch: grid=ceil(n / 256), block=256, args=pred, target, eps, out, n
extern "C" __global__ void giou(const float* pred, const float* target, float eps, float* loss, long long boxes) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= boxes) return;
  const float* p = pred + i * 4;
  const float* t = target + i * 4;
  float area_t = (t[2] - t[0]) * (t[3] - t[1]);
  if (!(area_t > 0.0f)) {
    loss[i] = 0.0f;
    return;
  }
  float area_p = (p[2] - p[0]) * (p[3] - p[1]);
  float w = fmaxf(fminf(p[2], t[2]) - fmaxf(p[0], t[0]), 0.0f);
  float h = fmaxf(fminf(p[3], t[3]) - fmaxf(p[1], t[1]), 0.0f);
  float overlap = w * h;
  float union_area = area_p + area_t - overlap;
  float hull_w = fmaxf(fmaxf(p[2], t[2]) - fminf(p[0], t[0]), 0.0f);
  float hull_h = fmaxf(fmaxf(p[3], t[3]) - fminf(p[1], t[1]), 0.0f);
  float hull = hull_w * hull_h;
  loss[i] = 1.0f - (overlap / (union_area + eps) - (hull - union_area) / (hull + eps));
}
