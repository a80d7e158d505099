// def embed(weight, token, position):
//     return weight[token] + position

using int64 = long long;

using uint32 = unsigned;

struct float16 {
    unsigned short bits;

    float16() = default;
    __device__ explicit float16(float value) {
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    }
    __device__ operator float() const {
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return value;
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

// An index into n elements: negative ones count from the end; the result is always within the
// tensor.
template <typename I>
__device__ inline I wrap_index(int64 index, I n) {
    if (index < 0) index += n;
    return I(index < 0 ? 0 : index < n ? index : n - 1);
}

extern "C" __global__ void __launch_bounds__(256) embed(
        const float16* __restrict__ weight,    // at i2 + index * weight_step
        const int64* __restrict__ token,       // at i0 * token_stride0 + i1
        const float16* __restrict__ position,  // at i1 * position_stride1 + i2
        float16* __restrict__ out,             // contiguous
        const int n,                           // elements
        const uint32 n1,                       // extent of i1
        const uint32 n2,                       // extent of i2
        const int token_stride0,
        const int weight_size,
        const int weight_step,
        const int position_stride1) {
    const int i = 8 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const int i2 = i % n2;
    const int i1 = i / n2 % n1;
    const int i0 = i / n2 / n1;

    const auto position8 = load<8>(position, i1 * position_stride1 + i2);
    const int token_wrapped = wrap_index(token[i0 * token_stride0 + i1], weight_size);
    const auto weight8 = load<8>(weight, i2 + token_wrapped * weight_step);
    Vec<float16, 8> out8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        out8[k] = float16(float(weight8[k]) + float(position8[k]));
    }
    store(out, i, out8);
}
