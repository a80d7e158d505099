// def mix(a, b):
//     low, high = a & 15, a >> 4
//     return (low * 3 + high) % 7 + b // 2, (a << 1) ^ b

using int64 = long long;

// The value of an argument; arguments are passed by address.
template <typename T>
inline T argument(const void* address) {
    return *static_cast<const T*>(address);
}

// Sums, differences and products of integers wrap around.
inline int add(int a, int b) { return int(unsigned(a) + unsigned(b)); }

inline int64 add(int64 a, int64 b) { return int64((unsigned long long)a + (unsigned long long)b); }

inline int multiply(int a, int b) { return int(unsigned(a) * unsigned(b)); }

inline int64 multiply(int64 a, int64 b) {
    return int64((unsigned long long)a * (unsigned long long)b);
}

template <typename T>
inline bool is_below_zero(T a) {
    if constexpr (T(-1) < 0)
        return a < 0;
    else
        return false;
}

// a / b without a signal: 0 for a division by zero; the smallest integer divided by -1 wraps.
template <typename T>
inline T quotient(T a, T b) {
    return b == 0 ? T(0) : b == T(-1) && T(-1) < 0 ? T(0ull - (unsigned long long)a) : T(a / b);
}

// The remainder a % b without a signal: 0 for a division by zero or by -1.
template <typename T>
inline T rest(T a, T b) {
    return b == 0 || (b == T(-1) && T(-1) < 0) ? T(0) : T(a % b);
}

// The quotient rounded down.
template <typename T>
inline T integer_floor_divide(T a, T b) {
    return T(quotient<T>(a, b) - (rest<T>(a, b) != 0 && is_below_zero(a) != is_below_zero(b)));
}

// The remainder with the sign of the divisor.
template <typename T>
inline T integer_remainder(T a, T b) {
    const T left = rest<T>(a, b);
    return left != 0 && is_below_zero(left) != is_below_zero(b) ? T(left + b) : left;
}

// A shift by a negative number, or by the width or more, gives 0.
template <typename T>
inline T shift_left(T a, T b) {
    const bool within = !is_below_zero(b) && b < T(8 * sizeof(T));
    return within ? T((unsigned long long)a << (within ? b : 0)) : T(0);
}

// A shift by a negative number, or by the width or more, gives copies of the sign bit.
template <typename T>
inline T shift_right(T a, T b) {
    constexpr T most = 8 * sizeof(T) - (T(-1) < 0);
    return T(a >> (is_below_zero(b) || b >= most ? most : b));
}

extern "C" void mix(const void* const* arguments, int64 begin, int64 end) {
    const int* __restrict a = argument<const int*>(arguments[0]);  // contiguous
    const int* __restrict b = argument<const int*>(arguments[1]);  // contiguous
    int* __restrict out0 = argument<int*>(arguments[2]);           // contiguous
    int* __restrict out1 = argument<int*>(arguments[3]);           // contiguous

#pragma omp simd
    for (int64 i = begin; i < end; ++i) {
        const int a_i = a[i];
        const int low = a_i & 15;
        const int high = shift_right(a_i, 4);
        const int b_i = b[i];
        const int v1 = integer_remainder(add(multiply(low, 3), high), 7);
        out0[i] = add(v1, integer_floor_divide(b_i, 2));
        out1[i] = shift_left(a_i, 1) ^ b_i;
    }
}
