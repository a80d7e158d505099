// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b

using uint8 = unsigned char;

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

// Loads the N elements from i on; past the last of n elements, the last one is repeated.
template <int N, typename T, typename I>
__device__ inline Vec<T, N> load_until(const T* data, I i, I n) {
    Vec<T, N> values;
#pragma unroll
    for (int k = 0; k < N; ++k) values[k] = data[min(i + k, n - 1)];
    return values;
}

// Stores those of the N elements from i on that are below n.
template <typename T, int N, typename I>
__device__ inline void store_until(T* data, I i, I n, const Vec<T, N>& values) {
#pragma unroll
    for (int k = 0; k < N; ++k)
        if (i + k < n) data[i + k] = values[k];
}

template <typename T>
__device__ inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// The quotient rounded down.
template <typename T>
__device__ inline T integer_floor_divide(T a, T b) {
    const T quotient = a / b;
    return a % b != 0 && is_below_zero(a) != is_below_zero(b) ? T(quotient - 1) : quotient;
}

// The remainder with the sign of the divisor.
template <typename T>
__device__ inline T integer_remainder(T a, T b) {
    const T rest = a % b;
    return rest != 0 && is_below_zero(rest) != is_below_zero(b) ? T(rest + b) : rest;
}

// A shift by a negative number, or by the width or more, gives 0.
template <typename T>
__device__ inline T shift_left(T a, T b) {
    return is_below_zero(b) || b >= T(8 * sizeof(T)) ? T(0) : T((unsigned long long)a << b);
}

// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
__device__ inline T shift_right(T a, T b) {
    const T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

extern "C" __global__ void __launch_bounds__(128) mix(
        const uint8* __restrict__ a,  // contiguous
        const uint8* __restrict__ b,  // contiguous
        uint8* __restrict__ out0,     // contiguous
        uint8* __restrict__ out1,     // contiguous
        const int n) {                // elements
    const int i = 8 * (blockIdx.x * 128 + threadIdx.x);
    if (i >= n) return;
    const bool whole = i + 8 <= n;

    Vec<uint8, 8> a8, b8;
    if (whole) {
        a8 = load<8>(a, i);
        b8 = load<8>(b, i);
    } else {
        a8 = load_until<8>(a, i, n);
        b8 = load_until<8>(b, i, n);
    }
    Vec<uint8, 8> out0_8, out1_8;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        const uint8 low = uint8(a8[k] & 15);
        const uint8 high = shift_right<uint8>(a8[k], 4);
        const uint8 v1 = integer_remainder<uint8>(uint8(uint8(low * 3) + high), 7);
        out0_8[k] = uint8(v1 + integer_floor_divide<uint8>(b8[k], 2));
        out1_8[k] = uint8(shift_left<uint8>(a8[k], 1) ^ b8[k]);
    }
    if (whole) {
        store(out0, i, out0_8);
        store(out1, i, out1_8);
    } else {
        store_until(out0, i, n, out0_8);
        store_until(out1, i, n, out1_8);
    }
}
