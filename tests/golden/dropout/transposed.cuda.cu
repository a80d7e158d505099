// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

using int64 = long long;

using uint32 = unsigned;

using uint64 = unsigned long long;

// N elements adjacent in memory, loaded and stored at once.
template <typename T, int N>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) Vec {
    T elements[N];

    __device__ T& operator[](int k) { return elements[k]; }
    __device__ const T& operator[](int k) const { return elements[k]; }
};

template <int N, typename T, typename I>
__device__ inline Vec<T, N> load(const T* data, I i) {
    return *reinterpret_cast<const Vec<T, N>*>(data + i);
}

template <typename T, int N, typename I>
__device__ inline void store(T* data, I i, const Vec<T, N>& values) {
    *reinterpret_cast<Vec<T, N>*>(data + i) = values;
}

template <typename T>
__device__ inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
__device__ inline T shift_right(T a, T b) {
    const T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

__device__ inline void philox_round(unsigned& a, unsigned& b, unsigned& c, unsigned& d, unsigned key0,
                         unsigned key1) {
    const uint64 first = uint64(0xD2511F53u) * a, second = uint64(0xCD9E8D57u) * c;
    a = unsigned(second >> 32) ^ b ^ key0;
    b = unsigned(second);
    c = unsigned(first >> 32) ^ d ^ key1;
    d = unsigned(first);
}

// Replaces the counter a, b, c, d (lowest word first) by four random words.
__device__ inline void philox(unsigned& a, unsigned& b, unsigned& c, unsigned& d, uint64 key) {
    constexpr unsigned step0 = 0x9E3779B9u, step1 = 0xBB67AE85u;
    const unsigned key0 = unsigned(key), key1 = unsigned(key >> 32);
    philox_round(a, b, c, d, key0, key1);
    philox_round(a, b, c, d, key0 + step0, key1 + step1);
    philox_round(a, b, c, d, key0 + step0 * 2, key1 + step1 * 2);
    philox_round(a, b, c, d, key0 + step0 * 3, key1 + step1 * 3);
    philox_round(a, b, c, d, key0 + step0 * 4, key1 + step1 * 4);
    philox_round(a, b, c, d, key0 + step0 * 5, key1 + step1 * 5);
    philox_round(a, b, c, d, key0 + step0 * 6, key1 + step1 * 6);
    philox_round(a, b, c, d, key0 + step0 * 7, key1 + step1 * 7);
    philox_round(a, b, c, d, key0 + step0 * 8, key1 + step1 * 8);
    philox_round(a, b, c, d, key0 + step0 * 9, key1 + step1 * 9);
}

// Random word `place` of the stream `draw`. Four adjacent words share one counter: if a thread
// computes all four, the compiler scrambles the counter once.
template <typename T>
__device__ inline T random_word(T seed, T draw, T place) {
    const uint64 at = uint64(place), number = uint64(draw);
    unsigned a = unsigned(at >> 2), b = unsigned(at >> 34), c = unsigned(number),
             d = unsigned(number >> 32);
    philox(a, b, c, d, uint64(seed));
    return T((at & 2) != 0 ? (at & 1) != 0 ? d : c : (at & 1) != 0 ? b : a);
}

extern "C" __global__ void __launch_bounds__(128) dropout(
        const float* __restrict__ x,     // contiguous
        const float* __restrict__ r,     // contiguous
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        float* __restrict__ out,         // contiguous
        const int n,                     // elements
        const uint32 n1,                 // extent of i1
        const int position_stride1) {
    const int i = 4 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const int i1 = i % n1;
    const int i0 = i / n1;

    const auto x4 = load<4>(x, i);
    const auto r4 = load<4>(r, i);
    const int64 seed_value = seed[0];
    Vec<float, 4> out4;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const int64 v1 = int64(i0 + (i1 + k) * position_stride1);
        const float v2 = float(int(shift_right(random_word(seed_value, 0LL, v1), 8LL)));
        out4[k] = x4[k] * float(v2 * 5.9604645e-08f < s1) * s2 + r4[k];
    }
    store(out, i, out4);
}
