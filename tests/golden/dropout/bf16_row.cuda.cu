// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

using int64 = long long;

using uint32 = unsigned;

using uint64 = unsigned long long;

struct bfloat16 {
    unsigned short bits;

    bfloat16() = default;
    __device__ explicit bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
        asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
        const unsigned wide = __float_as_uint(value);
        const unsigned rounded = (wide + 0x7fff + (wide >> 16 & 1)) >> 16;  // rounded to nearest
                                                                            // even
        bits = (unsigned short)(value != value ? 0x7fff : rounded);
#endif
    }
    __device__ operator float() const {
#if __CUDA_ARCH__ >= 800
        float wide;  // one instruction, for either half of a word
        asm("mov.b32 %0, {0, %1};" : "=f"(wide) : "h"(bits));
        return wide;
#else
        return __uint_as_float(unsigned(bits) << 16);
#endif
    }
};

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

// Calls step(i, whole) for each vector of N adjacent elements that this thread computes of its
// block's share, which starts at element `first` of n. `whole`: all elements of the vector are
// below n. If the block's whole share is below n, no step checks.
template <int N, int Threads, int Steps, typename I, typename Step>
__device__ inline void in_steps(I first, I n, const Step& step) {
    I i = first + N * I(threadIdx.x);
    if (n - first >= N * Threads * Steps) {
#pragma unroll
        for (int s = 0; s < Steps; ++s) step(i + s * (N * Threads), true);
    } else {
#pragma unroll 1
        for (; i < n; i += N * Threads) step(i, i + N <= n);
    }
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

extern "C" __global__ void __launch_bounds__(64) dropout(
        const bfloat16* __restrict__ x,  // contiguous
        const bfloat16* __restrict__ r,  // at i1
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        bfloat16* __restrict__ out,      // contiguous
        const int n,                     // elements
        const uint32 n1) {               // extent of i1
    const int first = 1024 * blockIdx.x;

    const int64 seed_value = seed[0];
    in_steps<8, 64, 2>(first, n, [&](int i, bool) {
        const int i1 = i % n1;
        const auto x8 = load<8>(x, i);
        const auto r8 = load<8>(r, i1);
        Vec<bfloat16, 8> out8;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            const int v1 = int(shift_right(random_word(seed_value, 0LL, int64(i | k)), 8LL));
            const float v2 = float(x8[k]) * float(float(v1) * 5.9604645e-08f < s1);
            out8[k] = bfloat16(fmaf(v2, s2, float(r8[k])));
        }
        store(out, i, out8);
    });
}
