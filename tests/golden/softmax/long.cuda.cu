// def softmax(x):
//     m = x.amax(-1, keepdim=True)
//     e = exp(x - m)
//     return e / e.sum(-1, keepdim=True)

using int64 = long long;

using uint32 = unsigned;

#define inf __int_as_float(0x7f800000)

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

__device__ inline double maximum(double a, double b) {
    return a != a ? a : b != b ? b : fmax(a, b);
}

struct Sum {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a + b;
    }
    static __device__ inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// NaN if either is NaN; a if they are equal.
struct Largest {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a > b ? a : b;
    }
    static __device__ inline float of(float a, float b) { return maximum(b, a); }
    static __device__ inline double of(double a, double b) { return maximum(b, a); }
};

// The value of the thread whose lane number differs from this thread's in `bits`.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// Combines `found` with the `found` of the thread whose lane number differs from this thread's in
// `bits`.
template <typename Kind, typename T>
__device__ inline T with_thread(T found, int bits) {
    return Kind::of(found, from_thread(found, bits));
}

// Combines n consecutive values as a binary tree, adjacent pairs first.
template <typename Kind, int n, typename T>
__device__ inline T tree(T* values) {
#pragma unroll
    for (int step = 1; step < n; step *= 2) {
#pragma unroll
        for (int k = 0; k + step < n; k += 2 * step)
            values[k] = Kind::of(values[k], values[k + step]);
    }
    return values[0];
}

// Shared memory that the reductions of a kernel use one after the other; reductions that need
// equally many bytes use the same memory.
template <int bytes>
__device__ inline void* place_of() {
    __shared__ double place[(bytes + 7) / 8];
    return place;
}
template <typename T, int slot>
__device__ inline T& in_turn() {
    if (slot > 0) __syncthreads();
    return *static_cast<T*>(place_of<sizeof(T)>());
}

// How the runs of a warp's threads are distributed: over `dealt` threads, each of which keeps
// `kept` runs. Each thread of the row has a vector of adjacent accumulators in each run.
template <int runs, int threads>
struct Deal {
    static constexpr int width = threads < 32 ? threads : 32, warps = threads / width;
    static constexpr int dealt = runs < width ? runs : width, kept = runs / dealt;
};

// Combines the accumulators (`classes`) of a row's threads in a block, each run separately: along
// the bits of the accumulators' numbers, lowest first. A thread's part of a run is `lanes` adjacent
// accumulators. In each run, the parts follow each other in thread order; the runs follow each
// other, too. Within a warp, runs are distributed: of two threads, each continues with one half.
template <typename Kind, int lanes, int threads, int slot, typename T, int n, int runs>
__device__ inline void of_block(T (&classes)[n], T (&found)[runs]) {
    using Dealt = Deal<runs, threads>;
    constexpr int width = Dealt::width, warps = Dealt::warps;
    constexpr int dealt = Dealt::dealt, kept = Dealt::kept;
#pragma unroll
    for (int r = 0; r < runs; ++r) found[r] = tree<Kind, lanes>(classes + r * lanes);
#pragma unroll
    for (int bits = 1; bits < width; bits *= 2) {
        const int half = bits < dealt ? runs / (2 * bits) : 0;  // half of the runs that a thread
                                                                // has left
#pragma unroll
        for (int r = 0; r < (half > 0 ? half : kept); ++r) {
            if (half > 0) {
                const bool is_upper = threadIdx.x & bits;
                const T mine = is_upper ? found[r + half] : found[r];
                found[r] = Kind::of(mine, from_thread(is_upper ? found[r] : found[r + half], bits));
            } else {
                found[r] = with_thread<Kind>(found[r], bits);
            }
        }
    }
    if constexpr (warps > 1) {
        auto& of_warps = in_turn<T[dealt][33], slot>();
        const int warp = threadIdx.x / 32, place = threadIdx.x % 32;
#pragma unroll
        for (int r = 0; r < kept; ++r) {
            if (r > 0) __syncthreads();
            if (place < dealt) of_warps[place][warp] = found[r];
            __syncthreads();
            const T* const row = &of_warps[place % dealt][warp / warps * warps];
            if constexpr (dealt == 1) {
                found[r] = row[place % warps];
#pragma unroll
                for (int bits = 1; bits < warps; bits *= 2)
                    found[r] = with_thread<Kind>(found[r], bits);
            } else {
                T of_warp[warps];
#pragma unroll
                for (int w = 0; w < warps; ++w) of_warp[w] = row[w];
                found[r] = tree<Kind, warps>(of_warp);
            }
        }
    }
}

// Combines the results of all runs. The runs that one thread keeps are adjacent: their numbers
// differ in the lowest bits.
template <typename Kind, int threads, typename T, int runs>
__device__ inline T of_runs(T (&found)[runs]) {
    T all = tree<Kind, Deal<runs, threads>::kept>(found);
#pragma unroll
    for (int bits = Deal<runs, threads>::dealt / 2; bits > 0; bits /= 2)
        all = with_thread<Kind>(all, bits);
    return all;
}

// Combines the accumulators of a row's threads into the row's result.
template <typename Kind, int lanes, int threads, int slot, typename T, int n>
__device__ inline T combined(T (&classes)[n]) {
    T found[n / lanes];
    of_block<Kind, lanes, threads, slot>(classes, found);
    return of_runs<Kind, threads>(found);
}

// As `tree` of numbers, for each element of the vectors.
template <typename Kind, int n, typename T, int lanes>
__device__ inline Vec<T, lanes> tree(Vec<T, lanes>* values) {
    Vec<T, lanes> found;
#pragma unroll
    for (int k = 0; k < lanes; ++k) {
        T of_lane[n];
#pragma unroll
        for (int i = 0; i < n; ++i) of_lane[i] = values[i][k];
        found[k] = tree<Kind, n>(of_lane);
    }
    return found;
}

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
