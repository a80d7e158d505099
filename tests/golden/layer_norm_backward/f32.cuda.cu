// def layer_norm(x, weight, bias):
//     return F.layer_norm(x, (x.shape[-1],), weight, bias)

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

// Merges the result of a group of adjacent accumulators into the results of the groups before it,
// as a binary counter carries: adjacent groups are combined first. After the last group, the
// highest level holds the result of all groups.
template <typename Kind, typename T, int n>
__device__ inline void carry(T (&levels)[n], int group, T found) {
    bool carries = true;
#pragma unroll
    for (int level = 0; level < n; ++level) {
        if (!carries) continue;
        carries = group >> level & 1;
        T both[2] = {levels[level], found};
        if (carries)
            found = tree<Kind, 2>(both);
        else
            levels[level] = found;
    }
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

extern "C" __global__ void __launch_bounds__(256, 2) layer_norm_backward(
        const float* __restrict__ x,       // contiguous
        const float* __restrict__ weight,  // at i
        const float* __restrict__ grad,    // contiguous
        const float s1,                    // float32(1 / x.size(1))
        float* __restrict__ out0,          // contiguous
        float* found,                      // partial results of chunks
        float* found_1,                    // partial results of chunks
        const uint32 n0,                   // extent of i0
        const uint32 n1) {                 // extent of i1
    const int chunk = blockIdx.x;

    Vec<float, 4> sum_of_columns[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of_columns[c][k] = 0.0f;
        }
    }
    Vec<float, 4> sum_of_columns_1[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum_of_columns_1[c][k] = 0.0f;
        }
    }
    Vec<float, 4> next_x4[4], next_grad4[4];
    if (chunk < n0) {
        const auto x_row = x + chunk * n1;
        const auto grad_row = grad + chunk * n1;
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            next_x4[v] = load<4>(x_row, i);
            next_grad4[v] = load<4>(grad_row, i);
        }
    }
#pragma unroll 1
    for (int row = chunk; row < n0; row += 256) {
        Vec<float, 4> x4[4], grad4[4];
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            x4[v] = next_x4[v];
            grad4[v] = next_grad4[v];
        }
        const int next = row + 256;
        if (next < n0) {
            const auto x_row_1 = x + next * n1;
            const auto grad_row_1 = grad + next * n1;
#pragma unroll
            for (int v = 0; v < 4; ++v) {
                const int i = threadIdx.x * 4 + v * 1024;
                next_x4[v] = load<4>(x_row_1, i);
                next_grad4[v] = load<4>(grad_row_1, i);
            }
        }
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                sum_of[k] = sum_of[k] + x4[v][k];
                sum_of_columns[v][k] = sum_of_columns[v][k] + grad4[v][k];
            }
        }
        const float sum = combined<Sum, 4, 256, 0>(sum_of);
        const float v1 = sum * s1;
        float sum_1_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_1_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v2 = x4[v][k] - v1;
                sum_1_of[k] = fmaf(v2, v2, sum_1_of[k]);
            }
        }
        const float sum_1 = combined<Sum, 4, 256, 1>(sum_1_of);
        const float v3 = rsqrtf(sum_1 * s1 + 1e-05f);
        const float v4 = -0.5f * v3 * v3;
        float sum_2_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_2_of[c] = 0.0f;
        }
        float sum_3_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_3_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            const auto weight4 = load<4>(weight, i);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const float v5 = x4[v][k] - v1;
                const float v6 = grad4[v][k] * weight4[k];
                sum_2_of[k] = fmaf(v4 * (v6 * v5 * v3), s1, sum_2_of[k]);
                sum_3_of[k] = fmaf(-(v6 * v3), s1, sum_3_of[k]);
                sum_of_columns_1[v][k] = fmaf(grad4[v][k], v5 * v3, sum_of_columns_1[v][k]);
            }
        }
        const float sum_2 = combined<Sum, 4, 256, 2>(sum_2_of);
        const float sum_3 = combined<Sum, 4, 256, 3>(sum_3_of);
        const float v7 = sum_2 * 2.0f;
        const auto out0_row = out0 + row * n1;
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            const int i = threadIdx.x * 4 + v * 1024;
            const auto weight4_1 = load<4>(weight, i);
            Vec<float, 4> out0_4;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                out0_4[k] = v7 * (x4[v][k] - v1) + grad4[v][k] * weight4_1[k] * v3 + sum_3;
            }
            store(out0_row, i, out0_4);
        }
        __syncthreads();
    }
#pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int i = threadIdx.x * 4 + v * 1024;
        store(found, chunk * n1 + i, sum_of_columns_1[v]);
        store(found_1, chunk * n1 + i, sum_of_columns[v]);
    }
}

extern "C" __global__ void __launch_bounds__(256) layer_norm_backward_1_rest(
        float* __restrict__ out1,  // at row
        float* __restrict__ out2,  // at row
        float* found,              // partial results of chunks
        float* found_1,            // partial results of chunks
        const uint32 n0) {         // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 32;

    float sum_levels[4], sum_1_levels[4];
#pragma unroll
    for (int g = 0; g < 32; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
        float sum_1_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_1_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
            sum_1_of[v] = sum_1_of[v] + found_1[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
        carry<Sum>(sum_1_levels, g / 4, tree<Sum, 4>(sum_1_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[3]);
    const float sum_1 = combined_across<Sum, 8, 32, 1>(sum_1_levels[3]);
    if (thread == 0) {
        out1[row] = sum;
        out2[row] = sum_1;
    }
}
