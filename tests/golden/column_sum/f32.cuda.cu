// def column_sum(x, y):
//     return (x * y).sum(0)

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

extern "C" __global__ void __launch_bounds__(256) column_sum(
        const float* __restrict__ x,  // at row + i * x_stride1
        const float* __restrict__ y,  // at row + i * y_stride1
        float* found,                 // partial results of chunks
        const uint32 n0,              // extent of i0
        const uint32 n1,              // extent of i1
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
    for (int from = (chunk * 8 + thread) * 4; from < n1; from += 4096) {
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
#pragma unroll
                for (int k = 0; k < 4; ++k) {
                    sum_of[v][k] = fmaf(x4[v][k], y4[v][k], sum_of[v][k]);
                }
            }
        }
    }
    const Vec<float, 4> sum = combined_across<Sum, 8, 32, 0>(tree<Sum, 4>(sum_of));
    if (thread == 0) {
        store(found, chunk * n0 + row, sum);
    }
}

extern "C" __global__ void __launch_bounds__(256) column_sum_rest(
        float* __restrict__ out,  // at row
        float* found,             // partial results of chunks
        const uint32 n0) {        // extent of i0
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x * 32 + threadIdx.x % 32;
    if (row >= n0) return;
    const int first = thread * 16;

    float sum_levels[3];
#pragma unroll
    for (int g = 0; g < 16; g += 4) {
        float sum_of[4];
#pragma unroll
        for (int c = 0; c < 4; ++c) {
            sum_of[c] = 0.0f;
        }
#pragma unroll
        for (int v = 0; v < 4; ++v) {
            sum_of[v] = sum_of[v] + found[(first + g + v) * n0 + row];
        }
        carry<Sum>(sum_levels, g / 4, tree<Sum, 4>(sum_of));
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_levels[2]);
    if (thread == 0) {
        out[row] = sum;
    }
}
