// A denoise update as it is usually written: each thread looks up the schedule at the timestep of its element's sample.
//
//   ingot compare examples/denoise.py --against examples/handwritten/denoise.cu --no-specials
//     eps=f32:nx3x256x256 sample=f32:nx3x256x256 noise=f32:nx3x256x256 table=f32:5x1000@0..1
//     t=i64:nx1x1x1@0..1000 n=512
//
// launch: grid=ceil(n / 256), block=256, args=eps, sample, noise, table, t, out, table.size(1), n // t.numel(),
//   n
extern "C" __global__ void denoise(const float* eps, const float* sample, const float* noise, const float* table,
                                   const long long* t, float* out, int steps, long long per_sample, long long n) {
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long step = t[i / per_sample];
  float x0 = (sample[i] - table[step] * eps[i]) * table[steps + step];
  x0 = fminf(fmaxf(x0, -1.0f), 1.0f);
  out[i] = table[2 * steps + step] * x0 + table[3 * steps + step] * sample[i] + table[4 * steps + step] * noise[i];
}
