// def hinge(score, label, mask):
//     margin = where(label > 0, 1 - score, 1 + score)
//     wrong = (margin > 1) & mask | isnan(score)
//     return where(wrong, margin, 0.0), wrong

using uint8 = unsigned char;

using int64 = long long;

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

// Loads the N elements from i on; past the last of n elements, the last one is repeated.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_until(const T* data, I i, I n) {
    Vec<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = data[min(i + k, n - 1)];
    return values;
}

// Stores those of the N elements from i on that are below n.
template <typename T, int N, typename I>
__device__ inline void store_until(T* data, I i, I n, const Vec<T, N>& values) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (i + k < n) data[i + k] = values[k];
}

extern "C" __global__ void __launch_bounds__(256) hinge(
        const float* __restrict__ score,  // contiguous
        const int64* __restrict__ label,  // contiguous
        const uint8* __restrict__ mask,   // bool, contiguous
        float* __restrict__ out0,         // contiguous
        bool* __restrict__ wrong,         // bool, contiguous
        const int n) {                    // elements
    const int i = 2 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 2 <= n;

    Vec<int64, 2> label2;
    Vec<float, 2> score2;
    Vec<uint8, 2> mask2;
    if (whole) {
        label2 = load<2>(label, i);
        score2 = load<2>(score, i);
        mask2 = load<2>(mask, i);
    } else {
        label2 = load_until<2>(label, i, n);
        score2 = load_until<2>(score, i, n);
        mask2 = load_until<2>(mask, i, n);
    }
    Vec<float, 2> out0_2;
    Vec<bool, 2> wrong2;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float margin = label2[k] > 0LL ? 1.0f - score2[k] : 1.0f + score2[k];
        const bool wrong_1 = (margin > 1.0f && mask2[k] != 0) || isnan(score2[k]);
        out0_2[k] = wrong_1 ? margin : 0.0f;
        wrong2[k] = wrong_1;
    }
    if (whole) {
        store(out0, i, out0_2);
        store(wrong, i, wrong2);
    } else {
        store_until(out0, i, n, out0_2);
        store_until(wrong, i, n, wrong2);
    }
}
