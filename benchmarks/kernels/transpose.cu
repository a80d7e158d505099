// out[z][r][c] = FUNCTION(transposed[z][c][r], row_major[z][r][c]).
// Tiles of 64 × 64 are transposed in shared memory; all global accesses are vectors of 16 bytes. rows and columns are
// multiples of 64. The grid is (columns / 64, rows / 64, batch).
#include "vector.cuh"

extern "C" __global__ void __launch_bounds__(256)
    transpose(const float* transposed, const float* row_major, float* out, int rows, int columns) {
  __shared__ float tile[64][65];
  const long long first = blockIdx.z * (long long)rows * columns;
  const int r = blockIdx.y * 64, c = blockIdx.x * 64, x = threadIdx.x % 16 * 4, y = threadIdx.x / 16;
  Vec<float, 4> row_vectors[4];
#pragma unroll
  for (int k = 0; k < 4; ++k)
    row_vectors[k] = load<4>(row_major + first + (long long)(r + y + 16 * k) * columns + c + x);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const auto column_vector = load<4>(transposed + first + (long long)(c + y + 16 * k) * rows + r + x);
#pragma unroll
    for (int j = 0; j < 4; ++j) tile[x + j][y + 16 * k] = column_vector.element[j];
  }
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    Vec<float, 4> result;
#pragma unroll
    for (int j = 0; j < 4; ++j) result.element[j] = FUNCTION(tile[y + 16 * k][x + j], row_vectors[k].element[j]);
    store(out + first + (long long)(r + y + 16 * k) * columns + c + x, result);
  }
}
