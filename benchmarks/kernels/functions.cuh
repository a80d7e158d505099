// PyTorch's activations, written as usual in CUDA.
#pragma once

__device__ inline float silu(float x) { return x / (1.0f + expf(-x)); }
__device__ inline float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }
__device__ inline float tanh_gelu(float x) {
  return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
}
__device__ inline float mish(float x) { return x * tanhf(log1pf(expf(x))); }
__device__ inline float softplus(float x) { return x > 20.0f ? x : log1pf(expf(x)); }
__device__ inline float elu(float x) { return x > 0.0f ? x : expm1f(x); }
__device__ inline float selu(float x) { return 1.0507009873554805f * (x > 0.0f ? x : 1.6732632423543773f * expm1f(x)); }
