// def dropout(x, r, p: float):
//     return F.dropout(x, p) + r

using int64 = long long;

using uint64 = unsigned long long;

// N neighbours in memory, read and written at once.
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

// By a negative number, or by the width or more: the sign.
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

// The counter a, b, c, d, its lowest word first, becomes four random words.
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

// Word `place` of a draw. Four neighbours are of one counter: where a thread has them as its lanes,
// the compiler sees that and scrambles it once.
template <typename T>
__device__ inline T random_word(T seed, T draw, T place) {
    const uint64 at = uint64(place), number = uint64(draw);
    unsigned a = unsigned(at >> 2), b = unsigned(at >> 34), c = unsigned(number),
             d = unsigned(number >> 32);
    philox(a, b, c, d, uint64(seed));
    return T((at & 2) != 0 ? (at & 1) != 0 ? d : c : (at & 1) != 0 ? b : a);
}

extern "C" __global__ void __launch_bounds__(256) dropout(
        const float* __restrict__ x,     // at i0 + i1 * x_stride1
        const float* __restrict__ r,     // at i0 + i1 * r_stride1
        const int64* __restrict__ seed,  // one element
        const float s1,                  // 1 - p
        const float s2,                  // 1 / (1 - p + (p == 1))
        float* __restrict__ out,         // contiguous
        const int n0,                    // of i0
        const int n1,                    // of i1
        const int x_stride1,
        const int position_stride0,
        const int r_stride1,
        const int out_stride0) {
    const int tiles1 = (n1 + 63) / 64;
    const int t1 = blockIdx.x % tiles1 * 64;
    const int t0 = blockIdx.x / tiles1 * 64;
    const int r_1 = threadIdx.x / 16;
    const int c = threadIdx.x % 16 * 4;
    const bool whole = t0 + 64 <= n0 && t1 + 64 <= n1;

    __shared__ float x_tile[64][65], r_tile[64][65];
    Vec<float, 4> x4[4], r4[4];
    if (whole) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = t1 + r_1 + s * 16;
            x4[s] = load<4>(x, t0 + c + i1 * x_stride1);
            r4[s] = load<4>(r, t0 + c + i1 * r_stride1);
        }
    } else {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const int i1 = min(t1 + r_1 + s * 16, n1 - 1);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i0 = min(t0 + c + k, n0 - 1);
                x4[s][k] = x[i0 + i1 * x_stride1];
                r4[s][k] = r[i0 + i1 * r_stride1];
            }
        }
    }
#pragma unroll
    for (int s = 0; s < 4; ++s) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            x_tile[c + k][r_1 + s * 16] = x4[s][k];
            r_tile[c + k][r_1 + s * 16] = r4[s][k];
        }
    }
    __syncthreads();
    const int64 seed_value = seed[0];
#pragma unroll
    for (int s = 0; s < 4; ++s) {
        Vec<float, 4> out4;
        const int i0 = t0 + r_1 + s * 16;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int i1 = t1 + c + k;
            const int64 v1 = random_word(seed_value, 0LL, int64(i0 * position_stride0 + i1));
            const float v2 = float(float(int(shift_right(v1, 8LL))) * 5.9604645e-08f < s1);
            const float v3 = x_tile[r_1 + s * 16][c + k] * v2 * s2;
            out4[k] = v3 + r_tile[r_1 + s * 16][c + k];
        }
        if (whole) {
            store(out, i0 * out_stride0 + (t1 + c), out4);
        } else {
            const int i0 = t0 + r_1 + s * 16;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const int i1 = t1 + c + k;
                if (i0 < n0 && i1 < n1) {
                    out[i0 * out_stride0 + i1] = out4[k];
                }
            }
        }
    }
}
