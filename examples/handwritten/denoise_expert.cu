// A denoise update by an expert: a thread computes four adjacent elements with 16-byte accesses. blockIdx.y is the
// sample, and a thread reads the sample's five constants once. The size of a sample must be a multiple of four.
//
//   ingot compare examples/denoise.py --against examples/handwritten/denoise_expert.cu --no-specials
//     eps=f32:nx3x256x256 sample=f32:nx3x256x256 noise=f32:nx3x256x256 table=f32:5x1000@0..1
//     t=i64:nx1x1x1@0..1000 n=512
//
// launch: grid=ceil(n / t.numel() / 1024), t.numel(), block=256, args=eps, sample, noise, table, t, out,
//   table.size(1), n // t.numel()
struct Step {
  float a, b, c, d, e;  // the constants of a timestep
  __device__ float operator()(float eps, float sample, float noise) const {
    const float x0 = fminf(fmaxf((sample - a * eps) * b, -1.0f), 1.0f);
    return c * x0 + d * sample + e * noise;
  }
};

extern "C" __global__ void denoise_by_four(const float* __restrict__ eps, const float* __restrict__ sample,
                                           const float* __restrict__ noise, const float* __restrict__ table,
                                           const long long* __restrict__ t, float* __restrict__ out, int steps,
                                           int per_sample) {
  const int index_in_sample = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (index_in_sample >= per_sample) return;
  const long long i = blockIdx.y * (long long)per_sample + index_in_sample;
  const float* constants = table + t[blockIdx.y];
  const Step step = {constants[0], constants[steps], constants[2 * steps], constants[3 * steps], constants[4 * steps]};
  const float4 e = *reinterpret_cast<const float4*>(eps + i);
  const float4 s = *reinterpret_cast<const float4*>(sample + i);
  const float4 z = *reinterpret_cast<const float4*>(noise + i);
  *reinterpret_cast<float4*>(out + i) = {step(e.x, s.x, z.x), step(e.y, s.y, z.y), step(e.z, s.z, z.z),
                                         step(e.w, s.w, z.w)};
}
