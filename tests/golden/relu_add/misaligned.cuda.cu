// def relu_add(x, y, bias: float):
//     return relu(x) + y + bias

template <typename To, typename From>
__device__ inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

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

// The `words` words that start `off` bytes after the start of two adjacent vectors. Shifts by whole
// words first, in steps of half the size each time, then by bytes.
template <int words>
__device__ inline Vec<unsigned, words> words_at(Vec<unsigned, words> low, Vec<unsigned, words> high,
                                                unsigned off) {
    unsigned both[2 * words];
#pragma unroll
    for (int w = 0; w < words; ++w) both[w] = low[w], both[words + w] = high[w];
#pragma unroll
    for (int step = words / 2; step > 0; step /= 2) {
#pragma unroll
        for (int w = 0; w + step < 2 * words; ++w) {
            const unsigned near = both[w], far = both[w + step];
            both[w] = off & 4 * step ? far : near;
        }
    }
    Vec<unsigned, words> result;
#pragma unroll
    for (int w = 0; w < words; ++w) result[w] = __funnelshift_r(both[w], both[w + 1], off % 4 * 8);
    return result;
}

// Loads the N elements from i on of an unaligned tensor, from the two aligned vectors around them.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_shifted(const T* data, I i) {
    constexpr int words = sizeof(T) * N / 4;
    const unsigned off = (unsigned long long)data % (4 * words);
    const char* const at = reinterpret_cast<const char*>(data + i) - off;
    const auto low = *reinterpret_cast<const Vec<unsigned, words>*>(at);
    const auto high = *reinterpret_cast<const Vec<unsigned, words>*>(at + 4 * words);
    return bit_cast<Vec<T, N>>(words_at<words>(low, high, off));
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

// NaN if either is NaN; otherwise +0.0 is larger than -0.0.
__device__ inline float maximum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fmaxf(a, b);
#endif
}

extern "C" __global__ void __launch_bounds__(256) relu_add(
        const float* __restrict__ x,  // contiguous
        const float* __restrict__ y,  // contiguous
        const float bias,
        float* __restrict__ out,      // contiguous
        const int n) {                // elements
    const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 4 <= n;

    Vec<float, 4> x4, y4;
    if (0 < i && i + 8 <= n) {
        x4 = load_shifted<4>(x, i);
        y4 = load<4>(y, i);
    } else {
        x4 = load_until<4>(x, i, n);
        y4 = load_until<4>(y, i, n);
    }
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        out4[k] = maximum(0.0f, x4[k]) + y4[k] + bias;
    }
    if (whole) {
        store(out, i, out4);
    } else {
        store_until(out, i, n, out4);
    }
}
