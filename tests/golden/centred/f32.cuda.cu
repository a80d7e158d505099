// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)
//
// prelude: int64 uint32 Vec load store Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined combined_across

// where: n1 = x.size(1)
// requires: x.size(0) == y.size(0), x.size(1) == y.size(1), x.size(1) > 16
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous(), aligned(y, 16)
// requires: out0.dtype == f32, out0.dim() == 2, out0.size(0) == x.size(0), out0.size(1) == x.size(1),
//   out0.is_contiguous(), aligned(out0, 16)
// requires: no_overlap(out0, x, y)
// requires: n1 == 512, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// scratch: workspace0 = empty(f32, x.size(0))
// launch: entry=centred, grid=x.size(0), block=64, args=x, y, out0, workspace0, n1
extern "C" __global__ void __launch_bounds__(64) centred(
        const float* __restrict__ x,    // contiguous
        const float* __restrict__ y,    // contiguous
        float* __restrict__ h,          // contiguous
        float* __restrict__ workspace,  // at row
        const uint32 n1) {              // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    const auto y_row = y + row * n1;
    const auto h_row = h + row * n1;
    Vec<float, 4> x4[2], y4[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 256;
        x4[v] = load<4>(x_row, i);
        y4[v] = load<4>(y_row, i);
    }
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 256;
        Vec<float, 4> h4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float h_1 = x4[v][k] + y4[v][k];
            sum_of[k] = sum_of[k] + h_1;
            h4[k] = h_1;
        }
        store(h_row, i, h4);
    }
    const float sum = combined<Sum, 4, 64, 0>(sum_of);
    if (threadIdx.x == 0) {
        workspace[row] = sum;
    }
}

// where: n0 = x.size(1), n1 = x.size(0), x_stride1 = x.size(1), y_stride1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: y.dtype == f32, y.dim() == 2, y.is_contiguous(), aligned(y, 16)
// requires: 512 < n1 <= 1024, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0, n0 % 16 == 0
// scratch: found = empty(f32, n0 * 16)
// launch: entry=centred_1, grid=ceil(n0 / 128) * 16, block=256, args=x, workspace0, y, float32(1 / x.size(1)), found,
//   n0, n1, n0, n0
extern "C" __global__ void __launch_bounds__(256) centred_1(
        const float* __restrict__ x,          // at row + i * x_stride1
        const float* __restrict__ workspace,  // at i
        const float* __restrict__ y,          // at row + i * y_stride1
        const float s1,                       // float32(1 / x.size(1))
        float* found,                         // partial results of chunks
        const uint32 n0,                      // extent of i0
        const uint32 n1,                      // extent of i1
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
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 512) {
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
                const float v1 = workspace[i] * s1;
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float h = x4[v][k] + y4[v][k];
                    sum_of[v][k] = sum_of[v][k] + (h - v1);
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
// requires: out1.dtype == f32, out1.dim() == 1, out1.size(0) == x.size(1), out1.is_contiguous(), aligned(out1, 16)
// launch: entry=centred_1_rest, grid=ceil(n0 / 32), block=256, args=out1, found, n0
extern "C" __global__ void __launch_bounds__(256) centred_1_rest(
        float* __restrict__ out1,  // at row
        float* found,              // partial results of chunks
        const uint32 n0) {         // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;

    float sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        sum_of[v] = sum_of[v] + found[(thread * 2 + v) * n0 + row];
    }
    const float sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 2>(sum_of));
    if (thread == 0) {
        out1[row] = sum;
    }
}
