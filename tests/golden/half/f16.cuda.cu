// def scaled_silu(x, w):
//     return silu(x) * w

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

// Calls step(i, whole) for each vector of N adjacent elements that this thread computes of its
// block's share, which starts at element `first` of n. `whole`: all elements of the vector are
// below n. If the block's whole share is below n, no step checks.
template <int N, int Threads, int Steps, typename I, typename Step>
__device__ inline void in_steps(I first, I n, const Step& step) {
    I i = first + N * I(threadIdx.x);
    if (n - first >= N * Threads * Steps) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) step(i + s * (N * Threads), true);
    } else {
#pragma unroll 1
        for (; i < n; i += N * Threads) step(i, i + N <= n);
    }
}

extern "C" __global__ void __launch_bounds__(64) scaled_silu(
        const float16* __restrict__ x,  // contiguous
        const float16* __restrict__ w,  // at i1
        float16* __restrict__ out,      // contiguous
        const int n,                    // elements
        const uint32 n1) {              // extent of i1
    const int first = 1024 * blockIdx.x;

    in_steps<8, 64, 2>(first, n, [&](int i, bool) {
        const int i1 = i % n1;
        const auto x8 = load<8>(x, i);
        const auto w8 = load<8>(w, i1);
        Vec<float16, 8> out8;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const float v1 = float(x8[k]);
            out8[k] = float16(v1 / (1.0f + expf(-v1)) * float(w8[k]));
        }
        store(out, i, out8);
    });
}
