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

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// Sums, differences and products of integers wrap around.
inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

inline int64 add(int64 a, int64 b) { return int64((unsigned long long)a + (unsigned long long)b); }

// NaN if either is; b where they are equal.
template <typename T>
inline T maximum(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
}

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

// The same for pieces that end at multiples of their size, wherever the first one begins.
template <int64 size, typename Work>
__attribute__((always_inline)) inline void in_aligned_pieces(int64 begin, int64 end,
                                                             const Work& work) {
    int64 first = begin;
    if (first % size != 0 && first < end) {
        const int64 next = smaller_of(first / size * size + size, end);
        work(first, next - first);
        first = next;
    }
    for (; first + size <= end; first += size) work(first, size);
    if (first < end) work(first, end - first);
}

// What was found of the classes of a row, as one: along the bits of their numbers, lowest first.
template <typename Kind, typename T, int n>
inline T combined(T (&classes)[n]) {
    for (int step = 1; step < n; step *= 2)
        for (int k = 0; k + step < n; k += 2 * step)
            classes[k] = Kind::of(classes[k], classes[k + step]);
    return classes[0];
}

extern "C" void giou_loss(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict pred = argument<const float*>(arguments[0]);    // at i * 4 + 0..3
    const float* __restrict target = argument<const float*>(arguments[1]);  // at i * 4 + 0..3
    float* found = argument<float*>(arguments[2]);                          // what was found of pieces
    int64* found_1 = argument<int64*>(arguments[3]);                        // what was found of pieces
    const int64 n0 = argument<int64>(arguments[4]);                         // of i0

    for (int64 unit = begin; unit < end; ++unit) {
        const int64 piece = unit % ((n0 + 4095) / 4096);
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
        }
        const int64 from = piece * 4096;
        const int64 to = smaller_of(from + 4096, n0);
        in_aligned_pieces<64>(from, to, [&](int64 first, int64 count) __attribute__((always_inline)) {
            const int64 base = first / 64 * 64;
#pragma omp simd
            for (int64 i = first; i < first + count; ++i) {
                const float target_i = target[i * 4 + 2];
                const float target_i_1 = target[i * 4];
                const float target_i_2 = target[i * 4 + 3];
                const float target_i_3 = target[i * 4 + 1];
                const float v1 = (target_i - target_i_1) * (target_i_2 - target_i_3);
                const bool valid = v1 > 0.0f;
                const float pred_i = pred[i * 4 + 2];
                const float rb = minimum(pred_i, target_i);
                const float pred_i_1 = pred[i * 4];
                const float lt = maximum(pred_i_1, target_i_1);
                const float w = maximum(0.0f, rb - lt);
                const float pred_i_2 = pred[i * 4 + 3];
                const float rb_1 = minimum(pred_i_2, target_i_2);
                const float pred_i_3 = pred[i * 4 + 1];
                const float lt_1 = maximum(pred_i_3, target_i_3);
                const float h = maximum(0.0f, rb_1 - lt_1);
                const float overlap = w * h;
                const float union_ = (pred_i - pred_i_1) * (pred_i_2 - pred_i_3) + v1 - overlap;
                const float erb = maximum(pred_i, target_i);
                const float elt = minimum(pred_i_1, target_i_1);
                const float ew = maximum(0.0f, erb - elt);
                const float erb_1 = maximum(pred_i_2, target_i_2);
                const float elt_1 = minimum(pred_i_3, target_i_3);
                const float eh = maximum(0.0f, erb_1 - elt_1);
                const float hull = ew * eh;
                const float giou = overlap / (union_ + 1e-07f) - (hull - union_) / (hull + 1e-07f);
                sum_of[i - base] = sum_of[i - base] + (valid ? 1.0f - giou : 0.0f);
                sum_1_of[i - base] = add(sum_1_of[i - base], int64(valid));
            }
        });
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        found[unit] = sum;
        found_1[unit] = sum_1;
    }
}

extern "C" void giou_loss_rest(const void* const* arguments, int64 begin, int64 end) {
    float* __restrict out = argument<float*>(arguments[0]);  // one element
    float* found = argument<float*>(arguments[1]);           // what was found of pieces
    int64* found_1 = argument<int64*>(arguments[2]);         // what was found of pieces
    const int64 n0 = argument<int64>(arguments[3]);          // of i0

    for (int64 row = begin; row < end; ++row) {
        float sum_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_of[c] = 0.0f;
        }
        int64 sum_1_of[64];
        for (int c = 0; c < 64; ++c) {
            sum_1_of[c] = 0LL;
        }
        for (int64 piece = 0; piece < (n0 + 4095) / 4096; ++piece) {
            sum_of[piece % 64] = sum_of[piece % 64] + found[row * ((n0 + 4095) / 4096) + piece];
            sum_1_of[piece % 64] = add(sum_1_of[piece % 64], found_1[row * ((n0 + 4095) / 4096) + piece]);
        }
        const float sum = combined<Sum>(sum_of);
        const int64 sum_1 = combined<Sum>(sum_1_of);
        out[0] = sum / float(maximum(1LL, sum_1));
    }
}
