// The prelude of generated CUDA kernels that reduce: what the threads of a row have found, made
// one.

// ingot: from_thread
// The value of the thread whose number in the warp differs in these bits.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// ingot: with_thread
// What this thread has found and what the thread has whose number differs in these bits, as one.
template <typename Kind, typename T>
__device__ inline T with_thread(T found, int bits) {
    return Kind::of(found, from_thread(found, bits));
}

// ingot: tree
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

// ingot: combined
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
