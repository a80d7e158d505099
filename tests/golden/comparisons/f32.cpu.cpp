// def hinge(score, label, mask):
//     margin = where(label > 0, 1 - score, 1 + score)
//     wrong = (margin > 1) & mask | isnan(score)
//     return where(wrong, margin, 0.0), wrong

using uint8 = unsigned char;

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

extern "C" void hinge(const void* const* arguments, int64 begin, int64 end) {
    const float* __restrict score = argument<const float*>(arguments[0]);  // contiguous
    const int64* __restrict label = argument<const int64*>(arguments[1]);  // contiguous
    const uint8* __restrict mask = argument<const uint8*>(arguments[2]);   // bool, contiguous
    float* __restrict out0 = argument<float*>(arguments[3]);               // contiguous
    bool* __restrict wrong = argument<bool*>(arguments[4]);                // bool, contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const float score_i = score[i];
        const float margin = label[i] > 0LL ? 1.0f - score_i : 1.0f + score_i;
        const bool wrong_1 = ((margin > 1.0f) & (mask[i] != 0)) | __builtin_isnan(score_i);
        out0[i] = wrong_1 ? margin : 0.0f;
        wrong[i] = wrong_1;
    }
}
