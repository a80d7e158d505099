// mish(group_norm(x)) by an expert: one block of 256 threads per group of at most 8192 elements. The elements are read
// once, with 16-byte loads, and stay in registers. Warps reduce with shuffles. Four blocks fit on a multiprocessor.
// x.size(2) must be a multiple of four.
//
//   ingot compare examples/group_norm_mish.py:group_norm_mish --against
//     examples/handwritten/group_norm_mish_expert.cu x=f32:nx256x256 weight=f32:256 bias=f32:256 n=1024
//
// launch: grid=x.size(0) * groups, block=256, args=x, weight, bias, out, x.size(1) // groups, x.size(2),
//   groups
constexpr int kThreads = 256, kVectors = 8;

__device__ float sum_of_block(float value) {
  __shared__ float warps[kThreads / 32];
  for (int offset = 16; offset; offset /= 2) value += __shfl_xor_sync(~0u, value, offset);
  __syncthreads();
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (float warp : warps) value += warp;
  return value;
}

/// x tanh(log(1 + e^x)). With w = e^x, the hyperbolic tangent is (w^2 + 2w) / (w^2 + 2w + 2). From x = 20 on it is 1.
__device__ float mish(float x) {
  const float w = expf(fminf(x, 20.0f)), numerator = w * (w + 2.0f);
  return x * (numerator / (numerator + 2.0f));
}

extern "C" __global__ void __launch_bounds__(kThreads, 4)
    group_norm_mish(const float* __restrict__ x, const float* __restrict__ weight, const float* __restrict__ bias,
                    float* __restrict__ out, int channels, int length, int groups) {
  const int size = channels * length, group = blockIdx.x % groups;
  const float4* row = reinterpret_cast<const float4*>(x + blockIdx.x * (long long)size);
  float4* result = reinterpret_cast<float4*>(out + blockIdx.x * (long long)size);

  float4 v[kVectors];
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int i = k * kThreads + threadIdx.x;
    v[k] = 4 * i < size ? row[i] : float4{0.0f, 0.0f, 0.0f, 0.0f};
    sum += v[k].x + v[k].y + v[k].z + v[k].w;
  }
  const float mean = sum_of_block(sum) / size;

  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    if (4 * (k * kThreads + threadIdx.x) >= size) continue;
    const float a = v[k].x - mean, b = v[k].y - mean, c = v[k].z - mean, d = v[k].w - mean;
    squares += a * a + b * b + c * c + d * d;
  }
  const float scale = rsqrtf(sum_of_block(squares) / size + 1e-5f);

#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    const int i = k * kThreads + threadIdx.x;
    if (4 * i >= size) continue;
    const int channel = group * channels + 4 * i / length;
    const float w = weight[channel] * scale, b = bias[channel] - mean * w;
    result[i] = {mish(v[k].x * w + b), mish(v[k].y * w + b), mish(v[k].z * w + b), mish(v[k].w * w + b)};
  }
}
