// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b

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

// Sums, differences and products of integers wrap around.
__device__ inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

__device__ inline int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }

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

extern "C" __global__ void __launch_bounds__(64) mix(
        const int* __restrict__ a,  // contiguous
        const int* __restrict__ b,  // contiguous
        int* __restrict__ out0,     // contiguous
        int* __restrict__ out1,     // contiguous
        const int n) {              // elements
    const int first = 512 * blockIdx.x;

    in_steps<4, 64, 2>(first, n, [&](int i, bool whole) {
        Vec<int, 4> a4, b4;
        if (whole) {
            a4 = load<4>(a, i);
            b4 = load<4>(b, i);
        } else {
            a4 = load_until<4>(a, i, n);
            b4 = load_until<4>(b, i, n);
        }
        Vec<int, 4> out0_4, out1_4;
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const int low = a4[k] & 15;
            const int high = shift_right(a4[k], 4);
            const int v1 = integer_remainder(add(multiply(low, 3), high), 7);
            out0_4[k] = add(v1, integer_floor_divide(b4[k], 2));
            out1_4[k] = shift_left(a4[k], 1) ^ b4[k];
        }
        if (whole) {
            store(out0, i, out0_4);
            store(out1, i, out1_4);
        } else {
            store_until(out0, i, n, out0_4);
            store_until(out1, i, n, out1_4);
        }
    });
}
