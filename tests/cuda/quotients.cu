// Checks the formulas of `quotients` and `quotient_of` (codegen/target/prelude/division.cuh), which are copied below:
// both return the nearest quotient for all 2^46 pairs of significands. Exponents do not matter as long as nothing
// overflows or becomes subnormal.
//
//   nvcc -O3 -arch=native -fmad=false tests/cuda/quotients.cu -o build/quotients && build/quotients
//
// takes about a minute on an H200.

#include <cstdio>

constexpr unsigned kSignificands = 1u << 23, kOne = 0x3f800000;

/// Tests one divisor per block, from significand `first` on; each thread of the block tests a part of the dividends.
/// Adds the number of incorrect quotients to `wrong`.
__global__ void try_all(unsigned first, unsigned long long* wrong) {
  const float divisor = __uint_as_float(kOne + first + blockIdx.x), reciprocal = 1.0f / divisor;
  float estimate;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(estimate) : "f"(divisor));
  const float refined = __fmaf_rn(__fmaf_rn(-divisor, estimate, 1.0f), estimate, estimate);
  unsigned wrong_count = 0;
  for (unsigned s = threadIdx.x; s < kSignificands; s += blockDim.x) {
    const float value = __uint_as_float(kOne + s), near = value * reciprocal;
    const float residual = __fmaf_rn(near, divisor, -value);  // as in `quotients`
    wrong_count += __fmaf_rn(-residual, reciprocal, near) != value / divisor;
    const float quotient = value * refined;  // as in `quotient_of`
    wrong_count += __fmaf_rn(__fmaf_rn(-divisor, quotient, value), refined, quotient) != value / divisor;
  }
  if (wrong_count != 0) atomicAdd(wrong, wrong_count);
}

int main() {
  constexpr unsigned kDivisors = 1u << 19;
  unsigned long long *wrong = nullptr, total = 0;
  cudaMalloc(&wrong, sizeof(total));
  cudaMemset(wrong, 0, sizeof(total));
  for (unsigned first = 0; first < kSignificands; first += kDivisors) try_all<<<kDivisors, 256>>>(first, wrong);
  cudaMemcpy(&total, wrong, sizeof(total), cudaMemcpyDeviceToHost);
  if (cudaGetLastError() != cudaSuccess) return std::puts("the GPU failed"), 2;
  std::printf("%llu of 2 * 2^46 quotients, 2^46 by each formula, are not the nearest\n", total);
  return total == 0 ? 0 : 1;
}
