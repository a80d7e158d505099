// An activation of a tensor. FUNCTION and ELEMENTS, the elements per thread, are macros.
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void activation(const float* x, float* out, long long n) {
  map<ELEMENTS>([](float x) { return FUNCTION(x); }, n, out, x);
}
