// A chain of ten transcendental functions.
//
// launch: grid=ceil(n / 1024), block=256, args=x, out, n
#include "vector.cuh"

extern "C" __global__ void transcendentals(const float* x, float* out, long long n) {
  const auto f = [](float x) {
    x = log1pf(expf(tanhf(x)));
    x = expm1f(atanf(erff(sinf(x))));
    return sqrtf(cosf(1.0f / (1.0f + expf(-x))));
  };
  map<4>(f, n, out, x);
}
