// def giou_loss(pred, target):  # boxes: [..., 4]
//     lt, rb = maximum(pred[..., :2], target[..., :2]), minimum(pred[..., 2:], target[..., 2:])
//     w, h = (rb - lt).clamp(min=0).unbind(-1)
//     overlap = w * h
//     def area(box):
//         return (box[..., 2] - box[..., 0]) * (box[..., 3] - box[..., 1])
//     union = area(pred) + area(target) - overlap
//     elt, erb = minimum(pred[..., :2], target[..., :2]), maximum(pred[..., 2:], target[..., 2:])
//     ew, eh = (erb - elt).clamp(min=0).unbind(-1)
//     hull = ew * eh
//     giou = overlap / (union + 1e-7) - (hull - union) / (hull + 1e-7)
//     valid = area(target) > 0
//     return sum(where(valid, 1 - giou, 0.0)) / clamp(sum(valid), min=1)

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

// Sums, differences and products of integers wrap around.
__device__ inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

__device__ inline int64 add(int64 a, int64 b) {
    return int64((unsigned long long)a + (unsigned long long)b);
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

// NaN if either is NaN; otherwise -0.0 is smaller than +0.0.
__device__ inline float minimum(float a, float b) {
#if __CUDA_ARCH__ >= 800
    float result;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
    return result;
#else
    return a != a ? a : b != b ? b : fminf(a, b);
#endif
}

__device__ inline double minimum(double a, double b) {
    return a != a ? a : b != b ? b : fmin(a, b);
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

// a / b by the steps of a division without overflow or underflow on the way: valid if the exponents
// of b and of the quotient are from -48 to 47. Zero numerators take this path, too; the processor's
// own division leaves them to a function.
__device__ inline float quotient_of(float a, float b) {
    float near;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(near) : "f"(b));
    const float reciprocal = __fmaf_rn(__fmaf_rn(-b, near, 1.0f), near, near);
    const float first = a * reciprocal;
    const auto is_plain = [](float c) { return __float_as_uint(c) * 2 - (79u << 24) < 96u << 24; };
    const bool is_zero = a == 0.0f;  // the fma below would lose the sign of a zero quotient
    const float found = is_zero ? first : __fmaf_rn(__fmaf_rn(-b, first, a), reciprocal, first);
    return is_plain(b) && (is_plain(found) || is_zero) ? found : a / b;
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

extern "C" __global__ void __launch_bounds__(512) giou_loss_backward(
        const float* __restrict__ target,  // at i * target_stride + 0..3
        int64* found,                      // partial results of chunks
        const uint32 n0,                   // extent of i0
        const int target_stride) {
    const int chunk = blockIdx.x % 32;
    const int row = blockIdx.x / 32;
    const int last = n0 - 1;

    int64 sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0LL;
    }
    for (int from = chunk * 1024 + threadIdx.x; from < n0; from += 32768) {
        Vec<float, 4> target4[2];
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            const int at = min(i, last);
            target4[v] = load<4>(target, at * target_stride);
        }
#pragma unroll
        for (int v = 0; v < 2; ++v) {
            const int i = from + v * 512;
            if (i < n0) {
                const float v1 = (target4[v][2] - target4[v][0]) * (target4[v][3] - target4[v][1]);
                const bool valid = v1 > 0.0f;
                sum_of[0] = add(sum_of[0], int64(valid));
            }
        }
    }
    const int64 sum = combined<Sum, 1, 512, 0>(sum_of);
    if (threadIdx.x == 0) {
        found[row * 32 + chunk] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128) giou_loss_backward_rest(
        int64* __restrict__ workspace,  // one element
        int64* found) {                 // partial results of chunks
    const int thread = threadIdx.x % 32;
    const int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= 1) return;

    int64 sum_of[1];
#pragma unroll
    for (int c = 0; c < 1; ++c) {
        sum_of[c] = 0LL;
    }
#pragma unroll
    for (int v = 0; v < 1; ++v) {
        sum_of[v] = found[row * 32 + (v * 32 + thread)];
    }
    const int64 sum = combined<Sum, 1, 32, 0>(sum_of);
    if (thread == 0) {
        workspace[0] = sum;
    }
}

extern "C" __global__ void __launch_bounds__(128) giou_loss_backward_1(
        const float* __restrict__ pred,       // at i * pred_stride + 0..3
        const int64* __restrict__ workspace,  // one element
        const float* __restrict__ target,     // at i * target_stride + 0..3
        const float* __restrict__ grad,       // one element
        float* __restrict__ out,              // at i * out_stride + 0..3
        const int n,                          // elements
        const int target_stride,
        const int pred_stride,
        const int out_stride) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;

    Vec<float, 4> target4[2], pred4[2];
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const int e = min(i + k * 128, n - 1);
        target4[k] = load<4>(target, e * target_stride);
    }
    const float v1 = grad[0] / float(max(1LL, workspace[0]));
    const float v2 = -v1;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float v3 = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const bool valid = v3 > 0.0f;
        const int e = min(i + k * 128, n - 1);
        if (valid) {
            pred4[k] = load<4>(pred, e * pred_stride);
        }
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        const float v4 = (target4[k][2] - target4[k][0]) * (target4[k][3] - target4[k][1]);
        const bool valid = v4 > 0.0f;
        float chosen = 0.0f;
        float chosen_1 = 0.0f;
        float chosen_2 = 0.0f;
        float chosen_3 = 0.0f;
        if (valid) {
            const bool v5 = pred4[k][0] == target4[k][0];
            const float erb = maximum(pred4[k][2], target4[k][2]);
            const float elt = minimum(pred4[k][0], target4[k][0]);
            const float v6 = erb - elt;
            const float ew = maximum(0.0f, v6);
            const float erb_1 = maximum(pred4[k][3], target4[k][3]);
            const float elt_1 = minimum(pred4[k][1], target4[k][1]);
            const float v7 = erb_1 - elt_1;
            const float eh = maximum(0.0f, v7);
            const float hull = ew * eh;
            const float v8 = pred4[k][2] - pred4[k][0];
            const float v9 = pred4[k][3] - pred4[k][1];
            const float rb = minimum(pred4[k][2], target4[k][2]);
            const float lt = maximum(pred4[k][0], target4[k][0]);
            const float v10 = rb - lt;
            const float w = maximum(0.0f, v10);
            const float rb_1 = minimum(pred4[k][3], target4[k][3]);
            const float lt_1 = maximum(pred4[k][1], target4[k][1]);
            const float v11 = rb_1 - lt_1;
            const float h = maximum(0.0f, v11);
            const float overlap = w * h;
            const float union_ = v8 * v9 + v4 - overlap;
            const float v12 = hull + 1e-07f;
            const float v13 = quotient_of(v1, v12);
            const float v14 = v2 * quotient_of(quotient_of(hull - union_, v12), v12) + v13;
            const float v15 = v6 >= 0.0f ? v14 * eh : 0.0f;
            const float v16 = -v15;
            const float v17 = union_ + 1e-07f;
            const float v18 = -v13 + v1 * quotient_of(quotient_of(overlap, v17), v17);
            const float v19 = v18 * v9;
            const float v20 = v5 ? v16 / 2.0f : pred4[k][0] >= target4[k][0] ? 0.0f : v16;
            const float v21 = quotient_of(v2, v17) - v18;
            const float v22 = v10 >= 0.0f ? v21 * h : 0.0f;
            const float v23 = -v22;
            const float v24 = v5 ? v23 / 2.0f : pred4[k][0] <= target4[k][0] ? 0.0f : v23;
            const bool v25 = pred4[k][1] == target4[k][1];
            const float v26 = v7 >= 0.0f ? v14 * ew : 0.0f;
            const float v27 = -v26;
            const float v28 = v18 * v8;
            const float v29 = v25 ? v27 / 2.0f : pred4[k][1] >= target4[k][1] ? 0.0f : v27;
            const float v30 = v11 >= 0.0f ? v21 * w : 0.0f;
            const float v31 = -v30;
            const float v32 = v25 ? v31 / 2.0f : pred4[k][1] <= target4[k][1] ? 0.0f : v31;
            const bool v33 = pred4[k][2] == target4[k][2];
            const float v34 = v33 ? v15 / 2.0f : pred4[k][2] <= target4[k][2] ? 0.0f : v15;
            const float v35 = v33 ? v22 / 2.0f : pred4[k][2] >= target4[k][2] ? 0.0f : v22;
            const bool v36 = pred4[k][3] == target4[k][3];
            const float v37 = v36 ? v26 / 2.0f : pred4[k][3] <= target4[k][3] ? 0.0f : v26;
            const float v38 = v36 ? v30 / 2.0f : pred4[k][3] >= target4[k][3] ? 0.0f : v30;
            chosen = v20 - v19 + v24;
            chosen_1 = v29 - v28 + v32;
            chosen_2 = v34 + v19 + v35;
            chosen_3 = v37 + v28 + v38;
        }
        const int e = i + k * 128;
        if (e < n) {
            store(out, e * out_stride, Vec<float, 4>{chosen, chosen_1, chosen_2, chosen_3});
        }
    }
}
