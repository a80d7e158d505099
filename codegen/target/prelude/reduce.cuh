// The prelude of generated CUDA kernels that reduce: what the threads of a row have found, made one.

// ingot: from_thread
// The value of the thread whose number in the warp differs in these bits.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// ingot: combined
// What the threads of a row have found of its classes, as one: along the bits of the classes'
// numbers, lowest first. A thread has runs of `lanes` neighbours, those of the next thread follow,
// and behind the runs of all threads come the next.
template <typename Kind, int lanes, int threads, int slot, typename T, int n>
__device__ inline T combined(T (&classes)[n]) {
    constexpr int runs = n / lanes, unrolled = runs <= 8 ? runs : 1;
    T found[runs];
#pragma unroll unrolled
    for (int r = 0; r < runs; ++r) {
#pragma unroll
        for (int step = 1; step < lanes; step *= 2) {
#pragma unroll
            for (int k = 0; k + step < lanes; k += 2 * step) {
                T& into = classes[r * lanes + k];
                into = Kind::of(into, classes[r * lanes + k + step]);
            }
        }
        found[r] = classes[r * lanes];
#pragma unroll
        for (int bits = 1; bits < (threads < 32 ? threads : 32); bits *= 2) {
            const T other = from_thread(found[r], bits);
            found[r] = threadIdx.x & bits ? Kind::of(other, found[r]) : Kind::of(found[r], other);
        }
    }
    if constexpr (threads > 32) {
        constexpr int warps = threads / 32;
        __shared__ T of_warps[runs][32];
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0) {
#pragma unroll unrolled
            for (int r = 0; r < runs; ++r) of_warps[r][warp] = found[r];
        }
        __syncthreads();
#pragma unroll unrolled
        for (int r = 0; r < runs; ++r) {
            found[r] = of_warps[r][warp / warps * warps + threadIdx.x % warps];
#pragma unroll
            for (int bits = 1; bits < warps; bits *= 2) {
                const T other = from_thread(found[r], bits);
                found[r] = threadIdx.x & bits ? Kind::of(other, found[r]) : Kind::of(found[r], other);
            }
        }
    }
#pragma unroll unrolled
    for (int step = 1; step < runs; step *= 2) {
#pragma unroll unrolled
        for (int r = 0; r + step < runs; r += 2 * step) found[r] = Kind::of(found[r], found[r + step]);
    }
    return found[0];
}

// ingot: combined_found
template <typename Kind, int lanes, int threads, int slot, typename T, typename I, int n>
__device__ inline Found<T, I> combined_found(T (&values)[n], I (&indices)[n]) {
    T best = values[0];
    I index = indices[0];
#pragma unroll
    for (int k = 1; k < n; ++k) Kind::take(best, index, values[k], indices[k]);
#pragma unroll
    for (int bits = 1; bits < (threads < 32 ? threads : 32); bits *= 2)
        Kind::take(best, index, from_thread(best, bits), from_thread(index, bits));
    if constexpr (threads > 32) {
        constexpr int warps = threads / 32;
        __shared__ T best_of_warps[32];
        __shared__ I index_of_warps[32];
        const int warp = threadIdx.x / 32;
        if (threadIdx.x % 32 == 0) best_of_warps[warp] = best, index_of_warps[warp] = index;
        __syncthreads();
        best = best_of_warps[warp / warps * warps + threadIdx.x % warps];
        index = index_of_warps[warp / warps * warps + threadIdx.x % warps];
#pragma unroll
        for (int bits = 1; bits < warps; bits *= 2)
            Kind::take(best, index, from_thread(best, bits), from_thread(index, bits));
    }
    return {best, index};
}

// ingot: combined_across
// The same where the threads of a row are `spacing` apart, with those of as many other rows between
// them; a thread has one element of each run.
template <typename Kind, int threads, int spacing, int slot, typename T, int runs>
__device__ inline T combined_across(T (&classes)[runs]) {
    constexpr int unrolled = runs <= 8 ? runs : 1;
    __shared__ T of_threads[threads][spacing];
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
#pragma unroll unrolled
    for (int r = 0; r < runs; ++r) {
        if (r > 0) __syncthreads();
        of_threads[thread][row] = classes[r];
        __syncthreads();
        T found[threads];
#pragma unroll
        for (int t = 0; t < threads; ++t) found[t] = of_threads[t][row];
#pragma unroll
        for (int step = 1; step < threads; step *= 2) {
#pragma unroll
            for (int t = 0; t + step < threads; t += 2 * step) found[t] = Kind::of(found[t], found[t + step]);
        }
        classes[r] = found[0];
    }
#pragma unroll unrolled
    for (int step = 1; step < runs; step *= 2) {
#pragma unroll unrolled
        for (int r = 0; r + step < runs; r += 2 * step) classes[r] = Kind::of(classes[r], classes[r + step]);
    }
    return classes[0];
}

// ingot: combined_found_across
template <typename Kind, int threads, int spacing, int slot, typename T, typename I, int runs>
__device__ inline Found<T, I> combined_found_across(T (&values)[runs], I (&indices)[runs]) {
    __shared__ T value_of[threads][spacing];
    __shared__ I index_of[threads][spacing];
    T best = values[0];
    I index = indices[0];
#pragma unroll
    for (int r = 1; r < runs; ++r) Kind::take(best, index, values[r], indices[r]);
    const int thread = threadIdx.x / spacing, row = threadIdx.x % spacing;
    value_of[thread][row] = best, index_of[thread][row] = index;
    __syncthreads();
    for (int t = 0; t < threads; ++t) Kind::take(best, index, value_of[t][row], index_of[t][row]);
    return {best, index};
}
