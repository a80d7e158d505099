// def column_sum(x, y):
//     return (x * y).sum(0)
//
// prelude: int64 uint32 Vec load store Sum from_thread with_thread tree carry combined_across

// where: n0 = x.size(1), n1 = x.size(0), x_stride1 = x.size(1), y_stride1 = x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous(), aligned(y, 16)
// requires: 8192 < n1 <= 16384, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0, n0 % 16 == 0
// scratch: found = empty(f32, n0 * 128)
// launch: entry=column_sum, grid=ceil(n0 / 128) * 128, block=256, args=x, y, found, n0, n1, n0, n0
extern "C" __global__ void __launch_bounds__(256) column_sum(
        const float* __restrict__ x,  // at row + i * x_stride1
        const float* __restrict__ y,  // at row + i * y_stride1
        float* found,                 // partial results of chunks
        const uint32 n0,              // extent of i0
        const uint32 n1,              // extent of i1
        const int x_stride1,
        const int y_stride1) {
    const int blocks = (n0 + 127) / 128;
    const int chunk = blockIdx.x / blocks;
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x % blocks * 128 + threadIdx.x % 32 * 4;
    if (row >= n0) return;
    const int last = n1 - 1;

    Vec<float, 4> sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of[c][k] = 0.0f;
        }
    }
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 4096) {
        Vec<float, 4> x4[4], y4[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            const int at = min(i, last);
            x4[v] = load<4>(x, row + at * x_stride1);
            y4[v] = load<4>(y, row + at * y_stride1);
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            if (i < n1) {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    sum_of[v][k] = fmaf(x4[v][k], y4[v][k], sum_of[v][k]);
                }
            }
        }
    }
    const Vec<float, 4> sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 4>(sum_of));
    if (thread == 0) {
        store(found, chunk * n0 + row, sum);
    }
}

// where: n0 = x.size(1)
// requires: out.dtype == f32, out.dim() == 1, out.size(0) == x.size(1), out.is_contiguous(), aligned(out, 16)
// launch: entry=column_sum_rest, grid=ceil(n0 / 32), block=256, args=out, found, n0
extern "C" __global__ void __launch_bounds__(256) column_sum_rest(
        float* __restrict__ out,  // at row
        float* found,             // partial results of chunks
        const uint32 n0) {        // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 16;

    float sum_levels[3];
#pragma unroll
    for (int g = 0; g < 16; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[2]);
    if (thread == 0) {
        out[row] = sum;
    }
}
