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
    constexpr int runs = n / lanes;
    T found[runs];
#pragma unroll
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
#pragma unroll
            for (int r = 0; r < runs; ++r) of_warps[r][warp] = found[r];
        }
        __syncthreads();
#pragma unroll
        for (int r = 0; r < runs; ++r) {
            found[r] = of_warps[r][warp / warps * warps + threadIdx.x % warps];
#pragma unroll
            for (int bits = 1; bits < warps; bits *= 2) {
                const T other = from_thread(found[r], bits);
                found[r] = threadIdx.x & bits ? Kind::of(other, found[r]) : Kind::of(found[r], other);
            }
        }
    }
#pragma unroll
    for (int step = 1; step < runs; step *= 2) {
#pragma unroll
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
