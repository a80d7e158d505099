// silu(x) * y in bfloat16.
//
// launch: grid=ceil(n / 2048), block=256, args=x, y, out, n
#include "functions.cuh"
#include "vector.cuh"

extern "C" __global__ void swiglu(const bfloat16* x, const bfloat16* y, bfloat16* out, long long n) {
  map<8>([](float x, float y) { return silu(x) * y; }, n, out, x, y);
}
