// An activation of a tensor. FUNCTION and LANES, the elements per thread, are macros; costly functions have more lanes.
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void activation(const float* x, float* out, long long n) {
  map<LANES>([](float x) { return FUNCTION(x); }, n, out, x);
}
