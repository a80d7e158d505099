// def embed(weight, token, position):
//     return weight[token] + position

using int64 = long long;

// The value of an argument; each is passed by its address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

inline int64 smaller_of(int64 a, int64 b) { return a < b ? a : b; }

// Not by __builtin_bit_cast, which takes only what is copied as a whole.
template <typename To, typename From>
inline To bit_cast(From from) {
    To to;
    __builtin_memcpy(static_cast<void*>(&to), &from, sizeof(To));
    return to;
}

// In integers, which every compiler vectorises. The product moves the exponent and takes denormals
// along.
inline float half_to_float(unsigned short half) {
    const unsigned magnitude = half & 0x7fffu;
    const unsigned top_bit = (half & 0x8000u) << 16;
    const float scaled = bit_cast<float>(magnitude << 13) * 0x1p112f;
    const unsigned special = magnitude >= 0x7c00u ? 0x7f800000u : 0u;
    return bit_cast<float>(bit_cast<unsigned>(scaled) | special | top_bit);
}

// Rounds to even; adding one half has the processor do so to a denormal's bits.
inline unsigned short half_from_float(float value) {
    const unsigned bits = bit_cast<unsigned>(value);
    const unsigned magnitude = bits & 0x7fffffffu;
    const unsigned top_bit = bits >> 16 & 0x8000u;
    const unsigned normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
    const unsigned small = bit_cast<unsigned>(bit_cast<float>(magnitude) + 0.5f) - 0x3f000000u;
    unsigned result = magnitude < 0x38800000u ? small : normal;
    result = magnitude >= 0x47800000u ? 0x7c00u : result;
    result = magnitude > 0x7f800000u ? 0x7e00u : result;
    return (unsigned short)(result | top_bit);
}

// The copies are written out: GCC does not vectorise a loop that copies a struct as a whole.
struct float16 {
    unsigned short bits;

    float16() = default;
    float16(const float16& other) : bits(other.bits) {}
    explicit float16(float value) : bits(half_from_float(value)) {}
    float16& operator=(const float16& other) {
        bits = other.bits;
        return *this;
    }
    operator float() const { return half_to_float(bits); }
};

// An index into n elements: negative ones count from the end, and none leaves the tensor. One that
// is out of range leaves its code in `bad`.
inline int64 check_index(int64 index, int64 n, int& bad, int code) {
    bad = ((index < -n) | (index >= n)) ? code : bad;
    const int64 wrapped = index < 0 ? index + n : index;
    const int64 most = wrapped < n ? wrapped : n - 1;
    return most < 0 ? 0 : most;
}

extern "C" void embed(const void* const* arguments, int64 begin, int64 end) {
    const float16* __restrict weight = argument<const float16*>(arguments[0]);    // at i2 + index * weight_step
    const int64* __restrict token = argument<const int64*>(arguments[1]);         // at i0 * token_stride0 + i1
    const float16* __restrict position = argument<const float16*>(arguments[2]);  // at i1 * position_stride1 + i2
    float16* __restrict out = argument<float16*>(arguments[3]);                   // contiguous
    const int64 n1 = argument<int64>(arguments[4]);                               // of i1
    const int64 n2 = argument<int64>(arguments[5]);                               // of i2
    const int64 token_stride0 = argument<int64>(arguments[6]);
    const int64 weight_size = argument<int64>(arguments[7]);
    const int64 weight_step = argument<int64>(arguments[8]);
    const int64 position_stride1 = argument<int64>(arguments[9]);
    int* status = argument<int*>(arguments[10]);                                  // what went wrong

    int bad = 0;
    for (int64 i = begin; i < end;) {
        const int64 first = i % n2;
        const int64 last = smaller_of(first + (end - i), n2);
        const int64 row = i - first;
        const int64 i1 = i / n2 % n1;
        const int64 i0 = i / n2 / n1;
        const auto token_row = token + i0 * token_stride0 + i1;
        const auto position_row = position + i1 * position_stride1;
        const auto out_row = out + row;
        const int64 token_wrapped = check_index(token_row[0], weight_size, bad, 2);
#pragma omp simd
        for (int64 i2 = first; i2 < last; ++i2) {
            const float v1 = float(weight[i2 + token_wrapped * weight_step]);
            out_row[i2] = float16(v1 + float(position_row[i2]));
        }
        i += last - first;
    }
    if (bad != 0) {
        *status = bad;
    }
}
