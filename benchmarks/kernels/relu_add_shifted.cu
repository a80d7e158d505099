// relu(x) + y + 0.5, for x and y of any alignment.
//
// launch: grid=ceil(n / 1024), block=256, args=x, y, out, n
#include "shifted.cuh"

extern "C" __global__ void relu_add_shifted(const float* x, const float* y, float* out, long long n) {
  map_shifted<4>([](float x, float y) { return (x > 0.0f ? x : 0.0f) + y + 0.5f; }, n, out, x, y);
}
