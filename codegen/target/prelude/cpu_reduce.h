// The prelude of generated CPU kernels that reduce: loops over aligned pieces of a row, and the
// combination of a row's accumulators.

// ingot: in_aligned_pieces
// As in_pieces, for pieces that begin and end at multiples of their size; the first and the last
// piece may be shorter.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_aligned_pieces(int64 begin, int64 end,
                                                             const Work& work) {
    int64 first = begin;
    if (first % size != 0 && first < end) {
        const int64 next = smaller_of(first / size * size + size, end);
        work(first, Part<size>{next - first});
        first = next;
    }
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

// ingot: combined
// Combines the accumulators (`classes`) of a row as a tree: each round combines the first half with
// the second half, as vectors.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined<Kind>(half);
    }
}

// ingot: combined_choice
// As `combined`, for a reduction that selects one of two values. The last two are combined in both
// orders, as a vector: for single numbers GCC would make a branch, mispredicted for half of the
// rows.
template <typename Kind, typename T, int n>
__attribute__((always_inline)) inline T combined_choice(const T (&classes)[n]) {
    if constexpr (n == 1) {
        return classes[0];
    } else if constexpr (n == 2) {
        T both[4];
#pragma omp simd
        for (int k = 0; k < 4; ++k) both[k] = Kind::of(classes[k & 1], classes[1 - (k & 1)]);
        return both[0];
    } else {
        T half[n / 2];
#pragma omp simd
        for (int k = 0; k < n / 2; ++k) half[k] = Kind::of(classes[k], classes[k + n / 2]);
        return combined_choice<Kind>(half);
    }
}

// ingot: combined_found
// As `combined`, for a reduction that finds a value and its index.
template <typename Kind, typename T, typename I, int n>
inline Found<T, I> combined_found(T (&values)[n], I (&indices)[n]) {
    for (int step = n / 2; step > 0; step /= 2) {
#pragma omp simd
        for (int k = 0; k < step; ++k)
            Kind::take(values[k], indices[k], values[k + step], indices[k + step]);
    }
    return {values[0], indices[0]};
}

// ingot: combine_rows
// As `combined`, for adjacent rows at once.
template <typename Kind, typename T, int n, int rows>
inline void combine_rows(T (&classes)[n][rows], T (&found)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                classes[c][k] = Kind::of(classes[c][k], classes[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = classes[0][k];
}

// ingot: combine_found_rows
// As `combined_found`, for adjacent rows at once: the values and the indices.
template <typename Kind, typename T, typename I, int n, int rows>
inline void combine_found_rows(T (&values)[n][rows], I (&indices)[n][rows], T (&found)[rows],
                               I (&at)[rows]) {
    for (int step = n / 2; step > 0; step /= 2)
        for (int c = 0; c < step; ++c)
            for (int k = 0; k < rows; ++k)
                Kind::take(values[c][k], indices[c][k], values[c + step][k], indices[c + step][k]);
    for (int k = 0; k < rows; ++k) found[k] = values[0][k], at[k] = indices[0][k];
}
