// The mean GIoU loss of the valid boxes by an expert: one pass, with two boxes per thread and one 16-byte load per box.
// A prediction is read only if its target has an area. Each warp and block reduces its sum, and the last block to
// finish adds the blocks' sums.
//
//   python examples/detections.py build/boxes.pt --images 160000 --float
//   ingot compare examples/giou_loss.py:giou_loss --against examples/handwritten/giou_loss_expert.cu
//     pred=build/boxes.pt:pred target=build/boxes.pt:target
//
// launch: grid=min(ceil(pred.numel() / 4 / 512), 1056), block=256, args=pred, target, eps, out, empty(f32, 2112),
//   zeros(i32, 1), pred.numel() // 4
constexpr int kThreads = 256, kBoxes = 2, kWarps = kThreads / 32;

__device__ float area(float4 box) { return (box.z - box.x) * (box.w - box.y); }

__device__ float loss_of(float4 p, float4 t, float eps) {
  const float w = fmaxf(fminf(p.z, t.z) - fmaxf(p.x, t.x), 0.0f);
  const float h = fmaxf(fminf(p.w, t.w) - fmaxf(p.y, t.y), 0.0f);
  const float overlap = w * h, union_area = area(p) + area(t) - overlap;
  const float hull_w = fmaxf(fmaxf(p.z, t.z) - fminf(p.x, t.x), 0.0f);
  const float hull_h = fmaxf(fmaxf(p.w, t.w) - fminf(p.y, t.y), 0.0f);
  const float hull = hull_w * hull_h;
  return 1.0f - (overlap / (union_area + eps) - (hull - union_area) / (hull + eps));
}

/// Sum the losses and their count over the block; the first thread has the result.
__device__ float2 sum_of_block(float2 sum) {
  __shared__ float2 warps[kWarps];
  for (int offset = 16; offset; offset /= 2) {
    sum.x += __shfl_down_sync(~0u, sum.x, offset);
    sum.y += __shfl_down_sync(~0u, sum.y, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kWarps; ++warp) sum.x += warps[warp].x, sum.y += warps[warp].y;
  }
  return sum;
}

/// blocks: one sum per block. done: the number of finished blocks, 0 before and after a launch.
extern "C" __global__ void __launch_bounds__(kThreads, 8)
    giou_loss(const float4* __restrict__ pred, const float4* __restrict__ target, float eps, float* loss,
              float* blocks_, unsigned* done, int boxes) {
  float2* blocks = reinterpret_cast<float2*>(blocks_);
  __shared__ bool is_last_block;
  float2 sum = {0.0f, 0.0f};
  for (int i = blockIdx.x * (kThreads * kBoxes) + threadIdx.x; i < boxes; i += gridDim.x * kThreads * kBoxes) {
    float4 t[kBoxes], p[kBoxes];
#pragma unroll
    for (int k = 0; k < kBoxes; ++k)
      t[k] = i + k * kThreads < boxes ? target[i + k * kThreads] : float4{0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < kBoxes; ++k) {
      if (area(t[k]) > 0.0f) p[k] = pred[i + k * kThreads];
    }
#pragma unroll
    for (int k = 0; k < kBoxes; ++k) {
      if (area(t[k]) > 0.0f) sum.x += loss_of(p[k], t[k], eps), sum.y += 1.0f;
    }
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) {
    blocks[blockIdx.x] = sum;
    __threadfence();
    is_last_block = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last_block) return;
  __threadfence();
  sum = {0.0f, 0.0f};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads)
    sum.x += blocks[block].x, sum.y += blocks[block].y;
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) {
    *loss = sum.x / fmaxf(sum.y, 1.0f);
    *done = 0;
  }
}
