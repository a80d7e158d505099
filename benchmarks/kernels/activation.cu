// An activation of a tensor; FUNCTION and LANES are given to the compiler. The heavier the function, the more lanes.
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void activation(const float* x, float* out, long long n) {
  map<LANES>([](float x) { return FUNCTION(x); }, n, out, x);
}
