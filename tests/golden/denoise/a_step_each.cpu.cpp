// def denoise(eps, sample, noise, table, t):  # table: [5, steps], t: an integer tensor
//     x0 = clamp((sample - table[0, t] * eps) * table[1, t], -1, 1)
//     return table[2, t] * x0 + table[3, t] * sample + table[4, t] * noise

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// An index into n elements: negative ones count from the end; the result is always within the
// tensor. An index out of range sets `bad` to its code.
inline int64 check_index(int64 index, int64 n, int& bad, int code) {
    bad = ((index < -n) | (index >= n)) ? code : bad;
    const int64 wrapped = index < 0 ? index + n : index;
    const int64 most = wrapped < n ? wrapped : n - 1;
    return most < 0 ? 0 : most;
}

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

// NaN if either is NaN; b if they are equal.
template <typename T>
inline T minimum(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
}

extern "C" void denoise(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict eps = argument<const float*>(arguments[0]);      // contiguous
    const float* __restrict sample = argument<const float*>(arguments[1]);   // contiguous
    const float* __restrict noise = argument<const float*>(arguments[2]);    // contiguous
    const float* __restrict table_2 = argument<const float*>(arguments[3]);  // at index * table_step
    const float* __restrict table_0 = argument<const float*>(arguments[4]);  // at index * table_step
    const float* __restrict table_1 = argument<const float*>(arguments[5]);  // at index * table_step
    const float* __restrict table_3 = argument<const float*>(arguments[6]);  // at index * table_step
    const float* __restrict table_4 = argument<const float*>(arguments[7]);  // at index * table_step
    const int64* __restrict t = argument<const int64*>(arguments[8]);        // at i0
    float* __restrict out = argument<float*>(arguments[9]);                  // contiguous
    const int64 n1 = argument<int64>(arguments[10]);                         // extent of i1
    const int64 table_size = argument<int64>(arguments[11]);
    const int64 table_step = argument<int64>(arguments[12]);
    int* status = argument<int*>(arguments[13]);                             // error code

    int bad = 0;
    for (int64 i = begin; i < end;) {
        const int64 first = i % n1;
        const int64 last = smaller_of(first + (end - i), n1);
        const int64 row = i - first;
        const int64 i0 = i / n1;
        const auto t_row = t + i0;
        const auto sample_row = sample + row;
        const auto eps_row = eps + row;
        const auto noise_row = noise + row;
        const auto out_row = out + row;
        const int64 t_wrapped = check_index(t_row[0], table_size, bad, 2);
        const float table_2_value = table_2[t_wrapped * table_step];
        const float table_0_value = table_0[t_wrapped * table_step];
        const float table_1_value = table_1[t_wrapped * table_step];
        const float table_3_value = table_3[t_wrapped * table_step];
        const float table_4_value = table_4[t_wrapped * table_step];
#pragma omp simd simdlen(8)
        for (int64 i1 = first; i1 < last; ++i1) {
            const float sample_i1 = sample_row[i1];
            const float v1 = (sample_i1 - table_0_value * eps_row[i1]) * table_1_value;
            const float x0 = minimum(1.0f, maximum(-1.0f, v1));
            const float v2 = table_2_value * x0 + table_3_value * sample_i1;
            out_row[i1] = v2 + table_4_value * noise_row[i1];
        }
        i += last - first;
    }
    if (bad != 0) {
        *status = bad;
    }
}
