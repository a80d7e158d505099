// silu(x) * y in bfloat16, for x and y of any alignment.
//
// launch: grid=ceil(n / 2048), block=256, args=x, y, out, n
#include "functions.cuh"
#include "shifted.cuh"

extern "C" __global__ void swiglu_shifted(const bfloat16* x, const bfloat16* y, bfloat16* out, long long n) {
  map_shifted<8>([](float x, float y) { return silu(x) * y; }, n, out, x, y);
}
