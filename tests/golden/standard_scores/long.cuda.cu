// def standard_scores(x):
//     d = x - x.mean()
//     return d * rsqrt((d * d).mean() + 1e-6)

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

// A thread's register-cached elements of a row: the first ones in registers, the others in shared
// memory.
template <typename T, int registers, int threads>
struct Resident {
    T first[registers];

    __device__ inline T& operator[](int v) {
        extern __shared__ int4 behind[];
        T* const others = reinterpret_cast<T*>(behind) + threadIdx.x;
        return v < registers ? first[v] : others[(v - registers) * threads];
    }
};

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

// Arrives at the cluster's barrier. The cluster's other blocks see this block's earlier writes once
// they have waited.
__device__ inline void cluster_arrives() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// Waits until all blocks of the cluster have arrived.
__device__ inline void cluster_waits() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// The value of the shared variable `found` in another block of the cluster.
template <typename T>
__device__ inline T of_other_block(const T& found, int block) {
    const T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&found), "r"(block));
    return *there;
}

// As `combined`, for a row that the blocks of a cluster share: the accumulators of the next block
// follow the accumulators of all threads of this block. No other reduction uses the array `place`
// of this function: a block may read it while another block is already ahead.
template <typename Kind, int lanes, int threads, int blocks, int slot, typename T, int n>
__device__ inline T combined_in_cluster(T (&classes)[n]) {
    constexpr int runs = n / lanes;
    constexpr int dealt = Deal<runs, threads>::dealt, kept = Deal<runs, threads>::kept;
    T found[runs];
    of_block<Kind, lanes, threads, slot>(classes, found);
    __shared__ T place[kept][dealt];
#pragma unroll
    for (int r = 0; r < kept; ++r)
        if (threadIdx.x < dealt) place[r][threadIdx.x] = found[r];
    cluster_arrives();
    cluster_waits();
#pragma unroll
    for (int r = 0; r < kept; ++r) {
        T of_blocks[blocks];
#pragma unroll
        for (int b = 0; b < blocks; ++b)
            of_blocks[b] = of_other_block(place[r][threadIdx.x % dealt], b);
        found[r] = tree<Kind, blocks>(of_blocks);
    }
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
