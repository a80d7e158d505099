// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)
//
// prelude: int64 uint32 inf Vec load store maximum Sum Largest from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n1 = x.size(1)
// requires: x.size(1) - 1 >= 0
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: 262144 < n1 <= 524288, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// scratch: found = empty(f32, x.size(0) * 128)
// launch: entry=softmax, grid=x.size(0) * 128, block=256, args=x, found, n1
extern "C" __global__ void __launch_bounds__(256) softmax(
        const float* __restrict__ x,  // contiguous
        float* found,                 // partial results of chunks
        const uint32 n1) {            // extent of i1
    const int chunk = blockIdx.x % 128;
    const int row = blockIdx.x / 128;

    const auto x_row = x + row * n1;
    float largest_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        largest_of[c] = -inf;
    }
#pragma unroll 4
    for (int i = chunk * 1024 + threadIdx.x * 4; i < n1; i += 131072) {
        const auto x4 = load<4>(x_row, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            largest_of[k] = maximum(x4[k], largest_of[k]);
        }
    }
    const float largest = combined<Largest, 4, 256, 0>(largest_of);
    if (threadIdx.x == 0) {
        found[row * 128 + chunk] = largest;
    }
}

// scratch: workspace0 = empty(f32, x.size(0))
// launch: entry=softmax_rest, grid=x.size(0), block=128, args=workspace0, found
extern "C" __global__ void __launch_bounds__(128) softmax_rest(
        float* __restrict__ workspace,  // at row
        float* found) {                 // partial results of chunks
    const int row = blockIdx.x;

    float largest_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        largest_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        largest_of[v] = found[row * 128 + (v * 128 + threadIdx.x)];
    }
    const float largest = combined<Largest, 1, 128, 0>(largest_of);
    if (threadIdx.x == 0) {
        workspace[row] = largest;
    }
}

// where: n1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: 262144 < n1 <= 524288, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// scratch: found_1 = empty(f32, x.size(0) * 128)
// launch: entry=softmax_1, grid=x.size(0) * 128, block=256, args=x, workspace0, found_1, n1
extern "C" __global__ void __launch_bounds__(256) softmax_1(
        const float* __restrict__ x,          // contiguous
        const float* __restrict__ workspace,  // at row
        float* found,                         // partial results of chunks
        const uint32 n1) {                    // extent of i1
    const int chunk = blockIdx.x % 128;
    const int row = blockIdx.x / 128;

    const auto x_row = x + row * n1;
    const float m = workspace[row];
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll 4
    for (int i = chunk * 1024 + threadIdx.x * 4; i < n1; i += 131072) {
        const auto x4 = load<4>(x_row, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float e = expf(x4[k] - m);
            sum_of[k] = sum_of[k] + e;
        }
    }
    const float sum = combined<Sum, 4, 256, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 128 + chunk] = sum;
    }
}

// scratch: workspace1 = empty(f32, x.size(0))
// launch: entry=softmax_1_rest, grid=x.size(0), block=128, args=workspace1, found_1
extern "C" __global__ void __launch_bounds__(128) softmax_1_rest(
        float* __restrict__ workspace_1,  // at row
        float* found) {                   // partial results of chunks
    const int row = blockIdx.x;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 128 + (v * 128 + threadIdx.x)];
    }
    const float sum = combined<Sum, 1, 128, 0>(sum_of);
    if (threadIdx.x == 0) {
        workspace_1[row] = sum;
    }
}

// where: n = x.size(0)*x.size(1), n1 = x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 1 <= n <= 2147418111, n1 % 8 == 0
// launch: entry=softmax_2, grid=ceil(n / 512), block=128, args=x, workspace0, workspace1, out, n, n1
extern "C" __global__ void __launch_bounds__(128) softmax_2(
        const float* __restrict__ x,            // contiguous
        const float* __restrict__ workspace,    // at i0
        const float* __restrict__ workspace_1,  // at i0
        float* __restrict__ out,                // contiguous
        const int n,                            // elements
        const uint32 n1) {                      // extent of i1
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const int i0 = i / n1;

    const auto x4 = load<4>(x, i);
    const float m = workspace[i0];
    const float workspace_1_value = workspace_1[i0];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float e = expf(x4[k] - m);
        out4[k] = e / workspace_1_value;
    }
    store(out, i, out4);
}
