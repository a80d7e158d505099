// The mean GIoU loss of the valid boxes as it is usually written: one kernel clears two accumulators, one adds the loss
// of each box to them, and one divides.
//
//   python examples/detections.py build/boxes.pt --images 160000 --float
//   ingot compare examples/giou_loss.py:giou_loss --against examples/handwritten/giou_loss.cu
//     pred=build/boxes.pt:pred target=build/boxes.pt:target
//
// launch: entry=clear, grid=1, block=1, args=
// launch: entry=add_losses, grid=ceil(pred.numel() / 4 / 256), block=256, args=pred, target, eps, pred.numel() // 4
// launch: entry=divide, grid=1, block=1, args=out
__device__ float sums[2];  // the sum of the losses, and the number of valid boxes

extern "C" __global__ void clear() { sums[0] = sums[1] = 0.0f; }

extern "C" __global__ void add_losses(const float* pred, const float* target, float eps, int boxes) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= boxes) return;
  const float* p = pred + i * 4;
  const float* t = target + i * 4;
  float area_t = (t[2] - t[0]) * (t[3] - t[1]);
  if (!(area_t > 0.0f)) return;
  float area_p = (p[2] - p[0]) * (p[3] - p[1]);
  float w = fmaxf(fminf(p[2], t[2]) - fmaxf(p[0], t[0]), 0.0f);
  float h = fmaxf(fminf(p[3], t[3]) - fmaxf(p[1], t[1]), 0.0f);
  float overlap = w * h;
  float union_area = area_p + area_t - overlap;
  float hull_w = fmaxf(fmaxf(p[2], t[2]) - fminf(p[0], t[0]), 0.0f);
  float hull_h = fmaxf(fmaxf(p[3], t[3]) - fminf(p[1], t[1]), 0.0f);
  float hull = hull_w * hull_h;
  atomicAdd(&sums[0], 1.0f - (overlap / (union_area + eps) - (hull - union_area) / (hull + eps)));
  atomicAdd(&sums[1], 1.0f);
}

extern "C" __global__ void divide(float* loss) { *loss = sums[0] / fmaxf(sums[1], 1.0f); }
