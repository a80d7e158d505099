// The prelude of generated CUDA kernels that reduce: combines the partial results of a row's
// threads.

// ingot: from_thread
// The value of the thread whose lane number differs from this thread's in `bits`.
template <typename T>
__device__ inline T from_thread(T value, int bits) {
    if constexpr (sizeof(T) < 4)
        return T(__shfl_xor_sync(~0u, int(value), bits));
    else
        return __shfl_xor_sync(~0u, value, bits);
}

// ingot: with_thread
// Combines `found` with the `found` of the thread whose lane number differs from this thread's in
// `bits`.
template <typename Kind, typename T>
__device__ inline T with_thread(T found, int bits) {
    return Kind::of(found, from_thread(found, bits));
}

// ingot: tree
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

// ingot: take_rows
// Copies a warp's rows from global to shared memory: `count` elements, the first of which is
// aligned to a vector. All vectors are loaded before the first one is stored.
template <int room, typename T, typename I>
__device__ inline void take_rows(T (&place)[room], const T* rows, I count) {
    constexpr int N = 16 / sizeof(T), steps = (room + 32 * N - 1) / (32 * N);
    const int lane = threadIdx.x % 32, behind = count / N * N + lane;
    Vec<T, N> taken[steps];
#pragma unroll
    for (int v = 0; v < steps; ++v) {
        const int i = (v * 32 + lane) * N;
        if (i + N <= count) taken[v] = load<N>(rows, i);
    }
#pragma unroll
    for (int v = 0; v < steps; ++v) {
        const int i = (v * 32 + lane) * N;
        if (i + N <= count) store(place, i, taken[v]);
    }
    if (behind < count) place[behind] = rows[behind];
}

// ingot: leave_rows
// Copies a warp's rows from shared memory back to global memory.
template <int room, typename T, typename I>
__device__ inline void leave_rows(T* rows, const T (&place)[room], I count) {
    constexpr int N = 16 / sizeof(T), steps = (room + 32 * N - 1) / (32 * N);
    const int lane = threadIdx.x % 32, behind = count / N * N + lane;
#pragma unroll
    for (int v = 0; v < steps; ++v) {
        const int i = (v * 32 + lane) * N;
        if (i + N <= count) store(rows, i, load<N>(place, i));
    }
    if (behind < count) rows[behind] = place[behind];
}

// ingot: unsigned_of
// The index as an unsigned integer of the same size, which is faster to divide.
__device__ inline unsigned unsigned_of(int i) { return i; }
__device__ inline unsigned long long unsigned_of(int64 i) { return i; }

// ingot: load_in_row
// Loads the N elements from i on of a row of n elements that may be unaligned, from the two aligned
// vectors around them. At least one of the N is in the row; elements past the row's end have no
// meaning.
template <int N, typename T, typename I, typename Length>
__device__ inline Vec<T, N> load_in_row(const T* row, I i, Length n) {
    constexpr int words = sizeof(T) * N / 4;
    const unsigned off = (unsigned long long)row % (4 * words);
    const auto at = unsigned_of(i) / N;
    const decltype(unsigned_of(i)) last =
        (off + n * (unsigned long long)sizeof(T) - 1) / (4 * words);
    const char* const aligned = reinterpret_cast<const char*>(row) - off;
    const auto vectors = reinterpret_cast<const Vec<unsigned, words>*>(aligned);
    return bit_cast<Vec<T, N>>(words_at<words>(vectors[at], vectors[min(at + 1, last)], off));
}

// ingot: Resident
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

// ingot: place_of
// Shared memory that the reductions of a kernel use one after the other; reductions that need
// equally many bytes use the same memory.
template <int bytes>
__device__ inline void* place_of() {
    __shared__ double place[(bytes + 7) / 8];
    return place;
}

// ingot: in_turn
template <typename T, int slot>
__device__ inline T& in_turn() {
    if (slot > 0) __syncthreads();
    return *static_cast<T*>(place_of<sizeof(T)>());
}

// ingot: Deal
// How the runs of a warp's threads are distributed: over `dealt` threads, each of which keeps
// `kept` runs. Each thread of the row has a vector of adjacent accumulators in each run.
template <int runs, int threads>
struct Deal {
    static constexpr int width = threads < 32 ? threads : 32, warps = threads / width;
    static constexpr int dealt = runs < width ? runs : width, kept = runs / dealt;
};

// ingot: of_block
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

// ingot: of_runs
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

// ingot: combined
// Combines the accumulators of a row's threads into the row's result.
template <typename Kind, int lanes, int threads, int slot, typename T, int n>
__device__ inline T combined(T (&classes)[n]) {
    T found[n / lanes];
    of_block<Kind, lanes, threads, slot>(classes, found);
    return of_runs<Kind, threads>(found);
}

// ingot: combined_of_runs
// As `combined`, for runs in a shared array in which each thread has a column of its own.
template <typename Kind, int lanes, int threads, int slot, typename T, int runs>
__device__ inline T combined_of_runs(T (&of_threads)[runs][threads]) {
    T found[runs];
#pragma unroll
    for (int r = 0; r < runs; ++r) found[r] = of_threads[r][threadIdx.x];
    return combined<Kind, lanes, threads, slot>(found);
}

// ingot: cluster_arrives
// Arrives at the cluster's barrier. The cluster's other blocks see this block's earlier writes once
// they have waited.
__device__ inline void cluster_arrives() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

// ingot: cluster_waits
// Waits until all blocks of the cluster have arrived.
__device__ inline void cluster_waits() {
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// ingot: of_other_block
// The value of the shared variable `found` in another block of the cluster.
template <typename T>
__device__ inline T of_other_block(const T& found, int block) {
    const T* there;
    asm("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(&found), "r"(block));
    return *there;
}

// ingot: combined_in_cluster
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

// ingot: combined_found
// As `combined`, for a reduction that finds a value and its index.
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

// ingot: combined_found_in_cluster
// As `combined_in_cluster`, for a reduction that finds a value and its index.
template <typename Kind, int lanes, int threads, int blocks, int slot, typename T, typename I,
          int n>
__device__ inline Found<T, I> combined_found_in_cluster(T (&values)[n], I (&indices)[n]) {
    auto [best, index] = combined_found<Kind, lanes, threads, slot>(values, indices);
    __shared__ T best_of_block;
    __shared__ I index_of_block;
    if (threadIdx.x == 0) best_of_block = best, index_of_block = index;
    cluster_arrives();
    cluster_waits();
#pragma unroll
    for (int b = 0; b < blocks; ++b)
        Kind::take(best, index, of_other_block(best_of_block, b),
                   of_other_block(index_of_block, b));
    return {best, index};
}

// ingot: tree Vec
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

// ingot: carry
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

// ingot: from_thread Vec
template <typename T, int lanes>
__device__ inline Vec<T, lanes> from_thread(Vec<T, lanes> value, int bits) {
#pragma unroll
    for (int k = 0; k < lanes; ++k) value[k] = from_thread(value[k], bits);
    return value;
}

// ingot: with_thread Vec
template <typename Kind, typename T, int lanes>
__device__ inline Vec<T, lanes> with_thread(Vec<T, lanes> found, int bits) {
#pragma unroll
    for (int k = 0; k < lanes; ++k) found[k] = with_thread<Kind>(found[k], bits);
    return found;
}

// ingot: combined_across
// Combines the results of a row's threads in the order of the threads: first within a warp, then
// those of all warps. `spacing` rows are interleaved: the threads of a row are `spacing` apart. It
// is at most 32, unless a row has one thread: then nothing is combined.
template <typename Kind, int threads, int spacing, int slot, typename T>
__device__ inline T combined_across(T found) {
    constexpr int warps = threads == 1 ? 1 : threads * spacing / 32;
#pragma unroll
    for (int bits = spacing; bits < 32; bits *= 2) found = with_thread<Kind>(found, bits);
    if constexpr (warps > 1) {
        __shared__ T of_warps[warps][spacing];
        const int row = threadIdx.x % spacing;
        if (threadIdx.x % 32 < spacing) of_warps[threadIdx.x / 32][row] = found;
        __syncthreads();
        T of_row[warps];
#pragma unroll
        for (int w = 0; w < warps; ++w) of_row[w] = of_warps[w][row];
        found = tree<Kind, warps>(of_row);
    }
    return found;
}

// ingot: combined_found_across
// As `combined_across`, for a reduction that finds a value and its index.
template <typename Kind, int threads, int spacing, int slot, typename T, typename I, int n>
__device__ inline Found<T, I> combined_found_across(T (&values)[n], I (&indices)[n]) {
    constexpr int warps = threads == 1 ? 1 : threads * spacing / 32;
    T best = values[0];
    I index = indices[0];
#pragma unroll
    for (int r = 1; r < n; ++r) Kind::take(best, index, values[r], indices[r]);
#pragma unroll
    for (int bits = spacing; bits < 32; bits *= 2)
        Kind::take(best, index, from_thread(best, bits), from_thread(index, bits));
    if constexpr (warps > 1) {
        __shared__ T value_of[warps][spacing];
        __shared__ I index_of[warps][spacing];
        const int warp = threadIdx.x / 32, row = threadIdx.x % spacing;
        if (threadIdx.x % 32 < spacing) value_of[warp][row] = best, index_of[warp][row] = index;
        __syncthreads();
        for (int w = 0; w < warps; ++w) Kind::take(best, index, value_of[w][row], index_of[w][row]);
        __syncthreads();
    }
    return {best, index};
}

// ingot: combined_found_across Vec
// As `combined_found_across` of numbers, for each element of the vectors.
template <typename Kind, int threads, int spacing, int slot, typename T, typename I, int lanes,
          int n>
__device__ inline Found<Vec<T, lanes>, Vec<I, lanes>> combined_found_across(
    Vec<T, lanes> (&values)[n], Vec<I, lanes> (&indices)[n]) {
    Found<Vec<T, lanes>, Vec<I, lanes>> found;
#pragma unroll
    for (int k = 0; k < lanes; ++k) {
        T of_lane[n];
        I at[n];
#pragma unroll
        for (int i = 0; i < n; ++i) of_lane[i] = values[i][k], at[i] = indices[i][k];
        const auto one = combined_found_across<Kind, threads, spacing, slot>(of_lane, at);
        found.value[k] = one.value, found.index[k] = one.index;
    }
    return found;
}
