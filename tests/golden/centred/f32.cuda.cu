// def centred(x, y):  # a sum that is stored, and its rows' mean, which columns are summed of
//     h = x + y
//     return h, (h - h.mean(1, keepdim=True)).sum(0)

using int64 = long long;

using uint32 = unsigned;

// N neighbours in memory, read and written at once.
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

// The value of the thread whose number in the warp differs in these bits.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// What this thread has found and what the thread has whose number differs in these bits, as one.
template <typename Kind, typename T>
__device__ inline T with_thread(T found, int bits) {
    return Kind::of(found, from_thread(found, bits));
}

// Of values with neighbouring numbers: along the bits of their numbers, lowest first.
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

// What the threads of a row have found of its classes, as one: along the bits of the classes'
// numbers, lowest first. A thread has runs of `lanes` neighbours, those of the next thread follow,
// and behind the runs of all threads come the next. Within a warp, runs are dealt out: of two
// threads each goes on with one half.
template <typename Kind, int lanes, int threads, int slot, typename T, int n>
__device__ inline T combined(T (&classes)[n]) {
    constexpr int runs = n / lanes, width = threads < 32 ? threads : 32, warps = threads / width;
    T found[runs];
#pragma unroll
    for (int r = 0; r < runs; ++r) found[r] = tree<Kind, lanes>(classes + r * lanes);
    constexpr int dealt = runs < width ? runs : width, kept = runs / dealt;
#pragma unroll
    for (int bits = 1; bits < width; bits *= 2) {
        const int half = bits < dealt ? runs / (2 * bits) : 0;  // of the runs that a thread has
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
        __shared__ T of_warps[dealt][33];
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
    // The runs that a thread kept are neighbours, the lowest bits of their numbers.
    T all = tree<Kind, kept>(found);
#pragma unroll
    for (int bits = dealt / 2; bits > 0; bits /= 2) all = with_thread<Kind>(all, bits);
    return all;
}

// The same where the threads of a row are `spacing` apart, with those of as many other rows between
// them; a thread has one element of each run.
template <typename Kind, int threads, int spacing, int slot, typename T, int runs>
__device__ inline T combined_across(T (&classes)[runs]) {
    __shared__ T of_threads[threads][spacing];
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
    for (int r = 0; r < runs; ++r) {
        if (r > 0) __syncthreads();
        of_threads[thread][row] = classes[r];
        __syncthreads();
        T found[threads];
#pragma unroll
        for (int t = 0; t < threads; ++t) found[t] = of_threads[t][row];
        classes[r] = tree<Kind, threads>(found);
    }
    return tree<Kind, runs>(classes);
}

extern "C" __global__ void __launch_bounds__(64) centred(
        const float* __restrict__ x,    // contiguous
        const float* __restrict__ y,    // contiguous
        float* __restrict__ h,          // contiguous
        float* __restrict__ workspace,  // at row
        const uint32 n1) {              // of i1
    const int row = blockIdx.x;

    const auto x_row = x + row * n1;
    const auto y_row = y + row * n1;
    const auto h_row = h + row * n1;
    float sum_of[4];
#pragma unroll
    for (int c = 0; c < 4; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll 4
    for (int i = threadIdx.x * 4; i < n1; i += 256) {
        const auto x4 = load<4>(x_row, i);
        const auto y4 = load<4>(y_row, i);
        Vec<float, 4> h4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float h_1 = x4[k] + y4[k];
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
        float* found,                         // what was found of pieces
        const uint32 n0,                      // of i0
        const uint32 n1,                      // of i1
        const int x_stride1,
        const int y_stride1) {
    const int piece = blockIdx.x % 8;
    const int thread = threadIdx.x / 32;
    const int row = blockIdx.x / 8 * 32 + threadIdx.x % 32;
    if (row >= n0) return;

    const auto x_row = x + row;
    const auto y_row = y + row;
    float sum_of[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        sum_of[c] = 0.0f;
    }
    for (int from = piece * 64 + thread; from < n1; from += 512) {
#pragma unroll
        for (int v = 0; v < 8; ++v) {
            const int i = from + v * 8;
            if (i < n1) {
                const float h = x_row[i * x_stride1] + y_row[i * y_stride1];
                sum_of[v] = sum_of[v] + (h - workspace[i] * s1);
            }
        }
    }
    const float sum = combined_across<Sum, 8, 32, 0>(sum_of);
    if (thread == 0) {
        found[row * 8 + piece] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128) centred_1_rest(
        float* __restrict__ out1,  // at row
        float* found,              // what was found of pieces
        const uint32 n0) {         // of i0
    const int thread = threadIdx.x % 8;
    const int row = blockIdx.x * 16 + threadIdx.x / 8;
    if (row >= n0) return;

    float sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0.0f;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 8 + (v * 8 + thread)];
    }
    const float sum = combined<Sum, 1, 8, 0>(sum_of);
    if (thread == 0) {
        out1[row] = sum;
    }
}
