// ~x of bytes.
//
// launch: grid=ceil(n / 4096), block=256, args=x, out, n
#include "vector.cuh"

extern "C" __global__ void invert(const unsigned char* x, unsigned char* out, long long n) {
  map<16>([](unsigned char x) { return (unsigned char)~x; }, n, out, x);
}
