// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)

using int64 = long long;

using uint32 = unsigned;

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

struct Sum {
    template <typename T>
    static __device__ inline T of(T a, T b) {
        return a + b;
    }
    static __device__ inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
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

// Combines the results of a row's threads in the order of the threads. `spacing` rows are
// interleaved: the threads of a row are `spacing` apart.
template <typename Kind, int threads, int spacing, int slot, typename T>
__device__ inline T combined_across(T found) {
    __shared__ T of_threads[threads][spacing];
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
    of_threads[thread][row] = found;
    __syncthreads();
    T of_row[threads];
#pragma unroll
    for (int t = 0; t < threads; ++t) of_row[t] = of_threads[t][row];
    return tree<Kind, threads>(of_row);
}

extern "C" __global__ void __launch_bounds__(64) centred(
        const float* __restrict__ x,    // contiguous
        const float* __restrict__ y,    // contiguous
        float* __restrict__ h,          // contiguous
        float* __restrict__ workspace,  // at row
        const uint32 n1) {              // extent of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    const auto y_row = y + row * n1;
    const auto h_row = h + row * n1;
    Vec<float, 4> x4[2], y4[2];
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 256;
        x4[v] = load<4>(x_row, i);
        y4[v] = load<4>(y_row, i);
    }
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        const int i = threadIdx.x * 4 + v * 256;
        Vec<float, 4> h4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float h_1 = x4[v][k] + y4[v][k];
            sum_of[k] = sum_of[k] + h_1;
            h4[k] = h_1;
        }
        store(h_row, i, h4);
    }
    const float sum = combined<Sum, 4, 64, 0>(sum_of);
    if (threadIdx.x == 0) {
        workspace[row] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(256) centred_1(
        const float* __restrict__ x,          // at row + i * x_stride1
        const float* __restrict__ workspace,  // at i
        const float* __restrict__ y,          // at row + i * y_stride1
        const float s1,                       // float32(1 / x.size(1))
        float* found,                         // partial results of chunks
        const uint32 n0,                      // extent of i0
        const uint32 n1,                      // extent of i1
        const int x_stride1,
        const int y_stride1) {
    const int blocks = (n0 + 127) / 128;
    const int chunk = blockIdx.x / blocks;
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x % blocks * 128 + threadIdx.x % 32 * 4;
    if (row >= n0) return;
    const int last = n1 - 1;

    Vec<float, 4> sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of[c][k] = 0.0f;
        }
    }
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 512) {
        Vec<float, 4> x4[4], y4[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            const int at = min(i, last);
            x4[v] = load<4>(x, row + at * x_stride1);
            y4[v] = load<4>(y, row + at * y_stride1);
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = from + v;
            if (i < n1) {
                const float v1 = workspace[i] * s1;
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    const float h = x4[v][k] + y4[v][k];
                    sum_of[v][k] = sum_of[v][k] + (h - v1);
                }
            }
        }
    }
    const Vec<float, 4> sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 4>(sum_of));
    if (thread == 0) {
        store(found, chunk * n0 + row, sum);
    }
}

extern "C" __global__ void __launch_bounds__(256) centred_1_rest(
        float* __restrict__ out1,  // at row
        float* found,              // partial results of chunks
        const uint32 n0) {         // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;

    float sum_of[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 2; ++v) {
        sum_of[v] = sum_of[v] + found[(thread * 2 + v) * n0 + row];
    }
    const float sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 2>(sum_of));
    if (thread == 0) {
        out1[row] = sum;
    }
}
