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
//     return sum(where(valid, 1 - giou, 0.0))

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

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

struct Sum {
    template <typename T>
    static inline T of(T a, T b) {
        return a + b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// A count known at compile time.
template <int64 n>
struct Whole {
    constexpr operator int64() const { return n; }
};

// A count known at run time that is below n.
template <int64 n>
struct Part {
    int64 number;
    operator int64() const { return number; }
};

// Calls work(k, valid) for each k below the count, vectorised. If the compiler does not know the
// count, and the processor can mask memory accesses, the last vector is computed whole, with
// `valid` false for each k past the count. Each k is then a constant, so values that `work` indexes
// by k stay in registers.
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Whole<n>, const Work& work) {
#pragma omp simd
    for (int64 k = 0; k < n; ++k) work(k, true);
}
template <int64 n, typename Work>
__attribute__((always_inline)) inline void over(Part<n> count, const Work& work) {
#if defined(__AVX512BW__)
#pragma GCC unroll 64
    for (int from = 0; from < n; from += 16) {
        const int left = int(count) - from;
        if (left <= 0) return;
#pragma omp simd
        for (int k = 0; k < 16; ++k) work(from + k, k < left);
    }
#else
#pragma omp simd
    for (int64 k = 0; k < count; ++k) work(k, true);
#endif
}

// Calls work(first, count) for pieces of [begin, end). The compiler knows the count of all pieces
// but the last.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_pieces(int64 begin, int64 end, const Work& work) {
    int64 first = begin;
    for (; first + size <= end; first += size) work(first, Whole<size>());
    if (first < end) work(first, Part<size>{end - first});
}

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

extern "C" void giou_loss_value_and_grad(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at (first + k) * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at (first + k) * 4 + 0..3
    float* __restrict out1 = argument<float*>(arguments[2]);                // at (first + k) * 4 + 0..3
    float* found = argument<float*>(arguments[3]);                          // partial results of chunks
    const int64 n0 = argument<int64>(arguments[4]);                         // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        const int64 from = chunk * 1024;
        const int64 to = smaller_of(from + 1024, n0);
        in_pieces<64>(from, to, [&](int64 first, auto count) __attribute__((always_inline)) {
            over(count, [&](int64 k, bool valid_1) __attribute__((always_inline)) {
                const float target_k = valid_1 ? target[(first + k) * 4 + 2] : 0.0f;
                const float target_k_1 = valid_1 ? target[(first + k) * 4] : 0.0f;
                const float target_k_2 = valid_1 ? target[(first + k) * 4 + 3] : 0.0f;
                const float target_k_3 = valid_1 ? target[(first + k) * 4 + 1] : 0.0f;
                const float v1 = (target_k - target_k_1) * (target_k_2 - target_k_3);
                const bool valid = v1 > 0.0f;
                const float pred_k = valid_1 ? pred[(first + k) * 4 + 2] : 0.0f;
                const float rb = minimum(pred_k, target_k);
                const float pred_k_1 = valid_1 ? pred[(first + k) * 4] : 0.0f;
                const float lt = maximum(pred_k_1, target_k_1);
                const float v2 = rb - lt;
                const float w = maximum(0.0f, v2);
                const float pred_k_2 = valid_1 ? pred[(first + k) * 4 + 3] : 0.0f;
                const float rb_1 = minimum(pred_k_2, target_k_2);
                const float pred_k_3 = valid_1 ? pred[(first + k) * 4 + 1] : 0.0f;
                const float lt_1 = maximum(pred_k_3, target_k_3);
                const float v3 = rb_1 - lt_1;
                const float h = maximum(0.0f, v3);
                const float overlap = w * h;
                const float v4 = pred_k - pred_k_1;
                const float v5 = pred_k_2 - pred_k_3;
                const float union_ = v4 * v5 + v1 - overlap;
                const float v6 = union_ + 1e-07f;
                const float v7 = overlap / v6;
                const float erb = maximum(pred_k, target_k);
                const float elt = minimum(pred_k_1, target_k_1);
                const float v8 = erb - elt;
                const float ew = maximum(0.0f, v8);
                const float erb_1 = maximum(pred_k_2, target_k_2);
                const float elt_1 = minimum(pred_k_3, target_k_3);
                const float v9 = erb_1 - elt_1;
                const float eh = maximum(0.0f, v9);
                const float hull = ew * eh;
                const float v10 = hull + 1e-07f;
                const float v11 = (hull - union_) / v10;
                const float giou = v7 - v11;
                const bool v12 = pred_k_1 == target_k_1;
                const float v13 = 1.0f / v10;
                const float v14 = -1.0f * (v11 / v10) + v13;
                const float v15 = v8 >= 0.0f ? v14 * eh : 0.0f;
                const float v16 = -v15;
                const float v17 = -v13 + v7 / v6;
                const float v18 = v17 * v5;
                const float v19 = -1.0f / v6 - v17;
                const float v20 = v2 >= 0.0f ? v19 * h : 0.0f;
                const float v21 = -v20;
                const float v22 = (v12 ? v16 / 2.0f : pred_k_1 >= target_k_1 ? 0.0f : v16) - v18;
                const float v23 = v22 + (v12 ? v21 / 2.0f : pred_k_1 <= target_k_1 ? 0.0f : v21);
                const float v24 = valid ? v23 : 0.0f;
                const bool v25 = pred_k_3 == target_k_3;
                const float v26 = v9 >= 0.0f ? v14 * ew : 0.0f;
                const float v27 = -v26;
                const float v28 = v17 * v4;
                const float v29 = v3 >= 0.0f ? v19 * w : 0.0f;
                const float v30 = -v29;
                const float v31 = (v25 ? v27 / 2.0f : pred_k_3 >= target_k_3 ? 0.0f : v27) - v28;
                const float v32 = v31 + (v25 ? v30 / 2.0f : pred_k_3 <= target_k_3 ? 0.0f : v30);
                const float v33 = valid ? v32 : 0.0f;
                const bool v34 = pred_k == target_k;
                const float v35 = (v34 ? v15 / 2.0f : pred_k <= target_k ? 0.0f : v15) + v18;
                const float v36 = v35 + (v34 ? v20 / 2.0f : pred_k >= target_k ? 0.0f : v20);
                const float v37 = valid ? v36 : 0.0f;
                const bool v38 = pred_k_2 == target_k_2;
                const float v39 = (v38 ? v26 / 2.0f : pred_k_2 <= target_k_2 ? 0.0f : v26) + v28;
                const float v40 = v39 + (v38 ? v29 / 2.0f : pred_k_2 >= target_k_2 ? 0.0f : v29);
                const float v41 = valid ? v40 : 0.0f;
                sum_of[k] = valid_1 ? sum_of[k] + (valid ? 1.0f - giou : 0.0f) : sum_of[k];
                if (valid_1) {
                    out1[(first + k) * 4] = v24;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 1] = v33;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 2] = v37;
                }
                if (valid_1) {
                    out1[(first + k) * 4 + 3] = v41;
                }
            });
        });
        const float sum = combined<Sum>(sum_of);
        found[unit] = sum;
    }
}

extern "C" void giou_loss_value_and_grad_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out0 = argument<float*>(arguments[0]);  // one element
    float* found = argument<float*>(arguments[1]);            // partial results of chunks
    const int64 n0 = argument<int64>(arguments[2]);           // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
        }
        const float sum = combined<Sum>(sum_of);
        out0[0] = sum;
    }
}
