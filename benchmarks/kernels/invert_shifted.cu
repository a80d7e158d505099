// ~x of bytes, for x of any alignment.
//
// launch: grid=ceil(n / 4096), block=256, args=x, out, n
#include "shifted.cuh"

extern "C" __global__ void invert_shifted(const unsigned char* x, unsigned char* out, long long n) {
  map_shifted<16>([](unsigned char x) { return (unsigned char)~x; }, n, out, x);
}
