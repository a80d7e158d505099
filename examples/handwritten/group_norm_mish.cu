// mish(group_norm(x)) as it is usually written: one block per group, with one pass for the mean, one for the variance,
// and one for the results.
//
//   ingot compare examples/group_norm_mish.py:group_norm_mish --against
//     examples/handwritten/group_norm_mish.cu x=f32:nx256x256 weight=f32:256 bias=f32:256 n=1024
//
// launch: grid=x.size(0) * groups, block=256, args=x, weight, bias, out, x.size(1) // groups, x.size(2),
//   groups
__device__ float sum_of_block(float value) {
  __shared__ float shared[256];
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int offset = 128; offset; offset /= 2) {
    if (threadIdx.x < offset) shared[threadIdx.x] += shared[threadIdx.x + offset];
    __syncthreads();
  }
  float sum = shared[0];
  __syncthreads();
  return sum;
}

extern "C" __global__ void group_norm_mish(const float* x, const float* weight, const float* bias, float* out,
                                           int channels_per_group, int length, int groups) {
  int size = channels_per_group * length, group = blockIdx.x % groups;
  const float* row = x + blockIdx.x * (long long)size;
  float* result = out + blockIdx.x * (long long)size;

  float sum = 0.0f;
  for (int i = threadIdx.x; i < size; i += blockDim.x) sum += row[i];
  float mean = sum_of_block(sum) / size;

  float squares = 0.0f;
  for (int i = threadIdx.x; i < size; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  float scale = rsqrtf(sum_of_block(squares) / size + 1e-5f);

  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    int channel = group * channels_per_group + i / length;
    float y = (row[i] - mean) * scale * weight[channel] + bias[channel];
    result[i] = y * tanhf(log1pf(expf(y)));
  }
}
