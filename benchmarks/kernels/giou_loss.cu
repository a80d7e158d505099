// The mean GIoU loss of the valid boxes. The prediction is loaded only if the target has an area. A grid-stride loop
// handles two boxes per thread at a time, so that their loads overlap. The last block to end adds up the blocks' sums.
// PRED and TARGET are the types of the corners.
//
// launch: grid=1056, block=256, args=pred, target, eps, out, empty(f32, 2112), zeros(i32, 1), pred.size(0)
#include "vector.cuh"

constexpr int kThreads = 256, kBoxes = 2, kWarps = kThreads / 32;

struct Box {
  float x1, y1, x2, y2;
  __device__ float area() const { return (x2 - x1) * (y2 - y1); }
};

/// The sum of the losses of the valid boxes, and their number.
struct Sum {
  float loss = 0.0f;
  int count = 0;
  __device__ void add(const Sum& other) { loss += other.loss, count += other.count; }
};

template <typename T>
__device__ Box box(const T* boxes, unsigned i) {
  const auto corners = load<4>(boxes + 4ll * i);
  return {float(corners.element[0]), float(corners.element[1]), float(corners.element[2]), float(corners.element[3])};
}

__device__ float loss_of(const Box& p, const Box& t, float eps) {
  const float w = fmaxf(fminf(p.x2, t.x2) - fmaxf(p.x1, t.x1), 0.0f);
  const float h = fmaxf(fminf(p.y2, t.y2) - fmaxf(p.y1, t.y1), 0.0f);
  const float overlap = w * h, union_area = p.area() + t.area() - overlap;
  const float hull_w = fmaxf(fmaxf(p.x2, t.x2) - fminf(p.x1, t.x1), 0.0f);
  const float hull_h = fmaxf(fmaxf(p.y2, t.y2) - fminf(p.y1, t.y1), 0.0f);
  const float hull = hull_w * hull_h;
  return 1.0f - (overlap / (union_area + eps) - (hull - union_area) / (hull + eps));
}

/// The sum over the block; valid in its first thread.
__device__ Sum sum_of_block(Sum sum) {
  __shared__ Sum warps[kWarps];
  for (int distance = 16; distance; distance /= 2) {
    sum.add({__shfl_down_sync(~0u, sum.loss, distance), __shfl_down_sync(~0u, sum.count, distance)});
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int warp = 1; warp < kWarps; ++warp) sum.add(warps[warp]);
  }
  return sum;
}

__device__ Sum sum_of_thread(const PRED* pred, const TARGET* target, float eps, unsigned n) {
  const unsigned step = gridDim.x * kThreads * kBoxes;
  Sum sum;
  for (unsigned i = blockIdx.x * (kThreads * kBoxes) + threadIdx.x; i < n; i += step) {
    Box t[kBoxes], p[kBoxes];
#pragma unroll
    for (int k = 0; k < kBoxes; ++k) t[k] = i + k * kThreads < n ? box(target, i + k * kThreads) : Box{};
#pragma unroll
    for (int k = 0; k < kBoxes; ++k) {
      if (t[k].area() > 0.0f) p[k] = box(pred, i + k * kThreads);
    }
#pragma unroll
    for (int k = 0; k < kBoxes; ++k) {
      if (t[k].area() > 0.0f) sum.add({loss_of(p[k], t[k], eps), 1});
    }
  }
  return sum;
}

/// blocks: one Sum per block, of two 32-bit words. done: the number of blocks that have ended; 0 before and after a
/// launch.
extern "C" __global__ void __launch_bounds__(kThreads, 8)
    giou_loss(const PRED* pred, const TARGET* target, float eps, PRED* loss, Sum* blocks, unsigned* done, int n) {
  __shared__ bool is_last_block;
  Sum sum = sum_of_block(sum_of_thread(pred, target, eps, n));
  if (threadIdx.x == 0) {
    blocks[blockIdx.x] = sum;
    __threadfence();
    is_last_block = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last_block) return;
  __threadfence();
  sum = Sum();
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads) sum.add(blocks[block]);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) {
    *loss = sum.loss / max(sum.count, 1);
    *done = 0;
  }
}
