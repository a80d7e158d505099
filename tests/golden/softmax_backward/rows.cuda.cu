// def softmax(x):
//     return x.softmax(-1)
//
// prelude: int64 uint32 inf nan Vec load store maximum minimum Sum Largest quotients from_thread with_thread tree place_of in_turn Deal of_block of_runs combined

// where: n1 = x.size(1)
// requires: x.size(0) == grad.size(0), x.size(1) == grad.size(1)
// requires: x.dtype == f32, x.dim() == 2, x.is_contiguous(), aligned(x, 16)
// requires: grad.dtype == f32, grad.dim() == 2, grad.is_contiguous(), aligned(grad, 16)
// requires: out.dtype == f32, out.dim() == 2, out.size(0) == x.size(0), out.size(1) == x.size(1), out.is_contiguous(),
//   aligned(out, 16)
// requires: no_overlap(out, x, grad)
// requires: n1 == 4096, 1 <= x.size(0)*x.size(1) <= 2139095039, n1 % 8 == 0
// launch: entry=softmax_backward, grid=x.size(0), block=256, args=x, grad, out, n1
extern "C" __global__ void __launch_bounds__(256) softmax_backward(
        const float* __restrict__ x,     // contiguous
        const float* __restrict__ grad,  // contiguous
        float* __restrict__ out,         // contiguous
        const uint32 n1) {               // extent of i1
    const int row = blockIdx.x;

    const auto grad_row = grad + row * n1;
    const auto x_row = x + row * n1;
    Vec<float, 4> grad4[4], x4[4];
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        grad4[v] = load<4>(grad_row, i);
        x4[v] = load<4>(x_row, i);
    }
    float largest_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        largest_of[c] = -inf;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            largest_of[k] = maximum(x4[v][k], largest_of[k]);
        }
    }
    const float largest = combined<Largest, 4, 256, 0>(largest_of);
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float v1 = expf(x4[v][k] - largest);
            sum_of[k] = sum_of[k] + v1;
            x4[v][k] = v1;
        }
    }
    const float sum = combined<Sum, 4, 256, 1>(sum_of);
    float sum_1_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_1_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const auto quotient4 = quotients(x4[v], sum);
        const auto quotient4_1 = quotients(quotient4, sum);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_1_of[k] = fmaf(-grad4[v][k], quotient4_1[k], sum_1_of[k]);
        }
    }
    const float sum_1 = combined<Sum, 4, 256, 2>(sum_1_of);
    const auto out_row = out + row * n1;
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        const auto quotient4_2 = quotients(grad4[v], sum);
        Vec<float, 4> out4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            out4[k] = (quotient4_2[k] + sum_1) * x4[v][k];
        }
        store(out_row, i, out4);
    }
}
