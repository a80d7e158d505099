// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)
//
// prelude: int64 uint32 Vec load store load_until store_until Sum from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: 65536 < n0 <= 131072, 1 <= n0 <= 2139095039, n0 % 8 == 0
// scratch: found = empty(f32, 32)
// launch: entry=standard_scores, grid=32, block=256, args=x, found, n0
extern "C" __global__ void __launch_bounds__(256) standard_scores(
        const float* __restrict__ x,  // contiguous
        float* found,                 // partial results of chunks
        const uint32 n0) {            // extent of i0
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;

    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll 4
    for (int i = chunk * 1024 + threadIdx.x * 4; i < n0; i += 32768) {
        const auto x4 = load<4>(x, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of[k] = sum_of[k] + x4[k];
        }
    }
    const float sum = combined<Sum, 4, 256, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
    }
}

// scratch: workspace0 = empty(f32, 1)
// launch: entry=standard_scores_rest, grid=1, block=128, args=workspace0, found
extern "C" __global__ void __launch_bounds__(128) standard_scores_rest(
        float* __restrict__ workspace,  // one element
        float* found) {                 // partial results of chunks
    const int thread = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= 1) return;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 32 + (v * 32 + thread)];
    }
    const float sum = combined<Sum, 1, 32, 0>(sum_of);
    if (thread == 0) {
        workspace[0] = sum;
    }
}

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: 65536 < n0 <= 131072, 1 <= n0 <= 2139095039, n0 % 8 == 0
// scratch: found_1 = empty(f32, 32)
// launch: entry=standard_scores_1, grid=32, block=256, args=x, workspace0, float32(1 / (x.size(0)*x.size(1))), found_1,
//   n0
extern "C" __global__ void __launch_bounds__(256) standard_scores_1(
        const float* __restrict__ x,          // contiguous
        const float* __restrict__ workspace,  // one element
        const float s1,                       // float32(1 / (x.size(0)*x.size(1)))
        float* found,                         // partial results of chunks
        const uint32 n0) {                    // extent of i0
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;

    const float v1 = workspace[0] * s1;
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll 4
    for (int i = chunk * 1024 + threadIdx.x * 4; i < n0; i += 32768) {
        const auto x4 = load<4>(x, i);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float d = x4[k] - v1;
            sum_of[k] = fmaf(d, d, sum_of[k]);
        }
    }
    const float sum = combined<Sum, 4, 256, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
    }
}

// scratch: workspace1 = empty(f32, 1)
// launch: entry=standard_scores_1_rest, grid=1, block=128, args=workspace1, found_1
extern "C" __global__ void __launch_bounds__(128) standard_scores_1_rest(
        float* __restrict__ workspace_1,  // one element
        float* found) {                   // partial results of chunks
    const int thread = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= 1) return;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 32 + (v * 32 + thread)];
    }
    const float sum = combined<Sum, 1, 32, 0>(sum_of);
    if (thread == 0) {
        workspace_1[0] = sum;
    }
}

// where: n = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 1 <= n <= 2147418111
// launch: entry=standard_scores_2, grid=ceil(n / 1024), block=256, args=x, workspace0, workspace1,
//   float32(1 / (x.size(0)*x.size(1))), out, n
extern "C" __global__ void __launch_bounds__(256) standard_scores_2(
        const float* __restrict__ x,            // contiguous
        const float* __restrict__ workspace,    // one element
        const float* __restrict__ workspace_1,  // one element
        const float s1,                         // float32(1 / (x.size(0)*x.size(1)))
        float* __restrict__ out,                // contiguous
        const int n) {                          // elements
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4;
    if (whole) {
        x4 = load<4>(x, i);
    } else {
        x4 = load_until<4>(x, i, n);
    }
    const float v1 = workspace[0] * s1;
    const float v2 = rsqrtf(workspace_1[0] * s1 + 1e-06f);
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const float d = x4[k] - v1;
        out4[k] = d * v2;
    }
    if (whole) {
        store(out, i, out4);
    } else {
        store_until(out, i, n, out4);
    }
}
