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

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// Sums, differences and products of integers wrap around.
inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

inline int64 add(int64 a, int64 b) { return int64((unsigned long long)a + (unsigned long long)b); }

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

extern "C" void giou_loss(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at (first + k) * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at (first + k) * 4 + 0..3
    float* found = argument<float*>(arguments[2]);                          // partial results of chunks
    int64* found_1 = argument<int64*>(arguments[3]);                        // partial results of chunks
    const int64 n0 = argument<int64>(arguments[4]);                         // extent of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 chunk = unit % ((n0 + 1023) / 1024);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
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
                const float w = maximum(0.0f, rb - lt);
                const float pred_k_2 = valid_1 ? pred[(first + k) * 4 + 3] : 0.0f;
                const float rb_1 = minimum(pred_k_2, target_k_2);
                const float pred_k_3 = valid_1 ? pred[(first + k) * 4 + 1] : 0.0f;
                const float lt_1 = maximum(pred_k_3, target_k_3);
                const float h = maximum(0.0f, rb_1 - lt_1);
                const float overlap = w * h;
                const float union_ = (pred_k - pred_k_1) * (pred_k_2 - pred_k_3) + v1 - overlap;
                const float erb = maximum(pred_k, target_k);
                const float elt = minimum(pred_k_1, target_k_1);
                const float ew = maximum(0.0f, erb - elt);
                const float erb_1 = maximum(pred_k_2, target_k_2);
                const float elt_1 = minimum(pred_k_3, target_k_3);
                const float eh = maximum(0.0f, erb_1 - elt_1);
                const float hull = ew * eh;
                const float giou = overlap / (union_ + 1e-07f) - (hull - union_) / (hull + 1e-07f);
                sum_of[k] = valid_1 ? sum_of[k] + (valid ? 1.0f - giou : 0.0f) : sum_of[k];
                sum_1_of[k] = valid_1 ? add(sum_1_of[k], int64(valid)) : sum_1_of[k];
            });
        });
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        found[unit] = sum;
        found_1[unit] = sum_1;
    }
}

extern "C" void giou_loss_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // one element
    float* found = argument<float*>(arguments[1]);           // partial results of chunks
    int64* found_1 = argument<int64*>(arguments[2]);         // partial results of chunks
    const int64 n0 = argument<int64>(arguments[3]);          // extent of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
        }
        for (int64 chunk = 0; chunk < (n0 + 1023) / 1024; ++chunk) {
            sum_of[chunk % 64] = sum_of[chunk % 64] + found[row * ((n0 + 1023) / 1024) + chunk];
            sum_1_of[chunk % 64] = add(sum_1_of[chunk % 64], found_1[row * ((n0 + 1023) / 1024) + chunk]);
        }
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        out[0] = sum / float(maximum(1LL, sum_1));
    }
}
