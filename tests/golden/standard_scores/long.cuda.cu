// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)
//
// prelude: int64 uint32 Vec load store Sum from_thread with_thread tree Resident place_of in_turn Deal of_block of_runs cluster_arrives cluster_waits of_other_block combined_in_cluster

// where: n0 = x.size(0)*x.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x)
// requires: 65536 < n0 <= 81920, 1 <= n0 <= 2139095039, n0 % 8 == 0
// launch: entry=standard_scores, grid=4, block=512, cluster=4, shared=max(0, ceil(n0 / 8192) - 8) * 8192, args=x,
//   float32(1 / (x.size(0)*x.size(1))), out, n0
extern "C" __global__ void __cluster_dims__(4) __launch_bounds__(512, 2) standard_scores(
        const float* __restrict__ x,  // contiguous
        const float s1,               // float32(1 / (x.size(0)*x.size(1)))
        float* __restrict__ out,      // contiguous
        const uint32 n0) {            // extent of i0
    const int thread = blockIdx.x % 4 * 512 + threadIdx.x;

    Resident<Vec<float, 4>, 8, 512> x4;
#pragma unroll
    for (int v = 0; v < 10; ++v) {
        const int i = thread * 4 + v * 8192;
        if (v < 5 || i < n0) {
            x4[v] = load<4>(x, i);
        }
    }
    float sum_of_runs[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = r; v < 10; v += 4) {
            const int i = thread * 4 + v * 8192;
            if (v < 5 || i < n0) {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    sum_of[k] = sum_of[k] + x4[v][k];
                }
            }
        }
        sum_of_runs[r] = tree<Sum, 4>(sum_of);
    }
    const float sum = combined_in_cluster<Sum, 1, 512, 4, 0>(sum_of_runs);
    const float v1 = sum * s1;
    float sum_1_of_runs[4];
#pragma unroll
    for (int r = 0; r < 4; ++r) {
        float sum_1_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_1_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = r; v < 10; v += 4) {
            const int i = thread * 4 + v * 8192;
            if (v < 5 || i < n0) {
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float d = x4[v][k] - v1;
                    sum_1_of[k] = fmaf(d, d, sum_1_of[k]);
                }
            }
        }
        sum_1_of_runs[r] = tree<Sum, 4>(sum_1_of);
    }
    const float sum_1 = combined_in_cluster<Sum, 1, 512, 4, 1>(sum_1_of_runs);
    cluster_arrives();
    const float v2 = rsqrtf(sum_1 * s1 + 1e-06f);
#pragma unroll
    for (int v = 0; v < 10; ++v) {
        const int i = thread * 4 + v * 8192;
        if (v < 5 || i < n0) {
            Vec<float, 4> out4;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float d = x4[v][k] - v1;
                out4[k] = d * v2;
            }
            store(out, i, out4);
        }
    }
    cluster_waits();
}
