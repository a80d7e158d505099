// def embed(table, i, j, x):
//     return where(i >= 0, table[i] * x, -x), where(i >= 0, table[j], 1.0)

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

// An index into n elements: negative ones count from the end; the result is always within the
// tensor. An index out of range sets `bad` to its code.
inline int64 check_index(int64 index, int64 n, int& bad, int code) {
    bad = ((index < -n) | (index >= n)) ? code : bad;
    const int64 wrapped = index < 0 ? index + n : index;
    const int64 most = wrapped < n ? wrapped : n - 1;
    return most < 0 ? 0 : most;
}

extern "C" void embed(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict table_0 = argument<const float*>(arguments[0]);  // at index * table_step
    const float* __restrict table_1 = argument<const float*>(arguments[1]);  // at index * table_step
    const int64* __restrict i = argument<const int64*>(arguments[2]);        // contiguous
    const int64* __restrict j = argument<const int64*>(arguments[3]);        // contiguous
    const float* __restrict x = argument<const float*>(arguments[4]);        // contiguous
    float* __restrict out0 = argument<float*>(arguments[5]);                 // contiguous
    float* __restrict out1 = argument<float*>(arguments[6]);                 // contiguous
    const int64 table_size = argument<int64>(arguments[7]);
    const int64 table_step = argument<int64>(arguments[8]);
    int* status = argument<int*>(arguments[9]);                              // error code

    int bad = 0;
#pragma omp simd reduction(max : bad)
    for (int64 i_1 = begin; i_1 < end; ++i_1) {
        const int64 i_i_1 = i[i_1];
        const float x_i_1 = x[i_1];
        const int64 j_i_1 = j[i_1];
        float chosen;
        float chosen_1 = 1.0f;
        if (i_i_1 >= 0LL) {
            const int64 i_wrapped = check_index(i_i_1, table_size, bad, 2);
            const int64 j_wrapped = check_index(j_i_1, table_size, bad, 2);
            chosen = table_0[i_wrapped * table_step] * x_i_1;
            chosen_1 = table_1[j_wrapped * table_step];
        } else {
            chosen = -x_i_1;
        }
        out0[i_1] = chosen;
        out1[i_1] = chosen_1;
    }
    if (bad != 0) {
        *status = bad;
    }
}
