// def swiglu(x):
//     gate, value = x.chunk(2, -1)
//     return F.silu(gate) * value

using uint32 = unsigned;

struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    __device__ explicit bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
        const unsigned wide = __float_as_uint(value);
        const unsigned rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;  // rounded to nearest
                                                                            // even
        bits = (unsigned short)(value != value ? 0x7fff : rounded);
#endif
    }
    __device__ operator float() const {
#if __CUDA_ARCH__ >= 800
        float wide;  // one instruction, for either half of a word
        asm("mov.b32 %0, {0, %1};" : "=f"(wide) : "h"(bits));
        return wide;
#else
        return __uint_as_float(unsigned(bits) << 16);
#endif
    }
};

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

template <int N, typename T, typename I>
__device__ inline Vec<T, N> load(const T* data, I i) {
    return *reinterpret_cast<const Vec<T, N>*>(data + i);
}

template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
}

extern "C" __global__ void __launch_bounds__(128) swiglu_backward(
        const bfloat16* __restrict__ x_512,  // at i0 * x_stride0 + i1
        const bfloat16* __restrict__ x_0,    // at i0 * x_stride0 + i1
        const bfloat16* __restrict__ grad,   // contiguous
        bfloat16* __restrict__ out_0,        // at i0 * out_stride0 + i1
        bfloat16* __restrict__ out_512,      // at i0 * out_stride0 + i1
        const int n,                         // elements
        const uint32 n1,                     // extent of i1
        const int x_stride0,
        const int out_stride0) {
    const int i = 8 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    const auto grad8 = load<8>(grad, i);
    const auto x_512_8 = load<8>(x_512, i0 * x_stride0 + i1);
    const auto x_0_8 = load<8>(x_0, i0 * x_stride0 + i1);
    Vec<bfloat16, 8> out_0_8, out_512_8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const float v1 = float(grad8[k]);
        const float v2 = float(x_0_8[k]);
        const float v3 = 1.0f + expf(-v2);
        const float v4 = 1.0f / v3;
        out_0_8[k] = bfloat16(v1 * float(x_512_8[k]) * v4 * fmaf(v2, 1.0f - v4, 1.0f));
        out_512_8[k] = bfloat16(v1 * (v2 / v3));
    }
    store(out_0, i0 * out_stride0 + i1, out_0_8);
    store(out_512, i0 * out_stride0 + i1, out_512_8);
}
