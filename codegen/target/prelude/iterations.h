// Functions with a loop whose number of steps depends on the operands, for both targets: Euclid's
// algorithm, series that end when the sum no longer changes, and polynomial recurrences. The file
// is divided into sections, as all files of the prelude. The functions use fused multiply-adds
// where the compilers of eager's kernels do.

// ingot: greatest_common_divisor
// Euclid's algorithm on the absolute values; 0 if both are 0.
template <typename T>
inline T greatest_common_divisor(T a, T b) {
    a = absolute<T>(a);
    b = absolute<T>(b);
    while (a != 0) {
        const T rest = T(b % a);
        b = a;
        a = rest;
    }
    return b;
}

// ingot: hurwitz_zeta
// The sum of (q + k)^-x over k >= 0, by Euler-Maclaurin summation (zeta of the Cephes Mathematical
// Library, Stephen L. Moshier, as in PyTorch).
template <typename T>
inline T hurwitz_zeta(T x, T q) {
    constexpr T factors[12] = {12.0,
                               -720.0,
                               30240.0,
                               -1209600.0,
                               47900160.0,
                               -1.8924375803183791606e9,
                               7.47242496e10,
                               -2.950130727918164224e12,
                               1.1646782814350067249e14,
                               -4.5979787224074726105e15,
                               1.8152105401943546773e17,
                               -7.1661652561756670113e18};
    constexpr T unit = T(1.11022302462515654042e-16);  // 2^-53: the unit roundoff of float64
    if (x == 1) return T(inf);
    if (x < 1) return T(nan);
    if (q <= 0) {
        if (q == math::floor(q)) return T(inf);
        if (x != math::floor(x)) return T(nan);
    }
    T sum = math::pow(q, -x), at = q, term = 0;
    for (int k = 0; k < 9 || at <= 9; ++k) {
        at += 1;
        term = math::pow(at, -x);
        sum += term;
        if (-unit * sum < term && term < unit * sum) return sum;
    }
    sum += term * at / (x - 1);
    sum = math::fma(T(-0.5), term, sum);
    T rising = 1, k = 0;
    for (int i = 0; i < 12; ++i) {
        rising *= x + k;
        term /= at;
        const T correction = rising * term / factors[i];
        sum = sum + correction;
        if (math::fabs(correction / sum) < unit) return sum;
        k += 1;
        rising *= x + k;
        term /= at;
        k += 1;
    }
    return sum;
}

// ingot: airy_series
// Airy's function near 0, by its Maclaurin series (airy of the Cephes Mathematical Library).
template <typename T>
inline T airy_series(T x) {
    const T cube = x * x * x;
    T f = 1, g = x, f_term = 1, g_term = x, k = 1, change = 1;
    while (change > T(1.11022302462515654042e-16)) {
        f_term *= cube;
        k += 1;
        f_term /= k;
        g_term *= cube;
        k += 1;
        g_term /= k;
        f_term /= k;
        f += f_term;
        k += 1;
        g_term /= k;
        g += g_term;
        change = math::fabs(f_term / f);
    }
    return math::fma(T(0.355028053887817239260), f, -(T(0.258819403792806798405) * g));
}

// ingot: chebyshev_recurrence
// Chebyshev polynomials of all kinds: p(n) of p(k + 1) = 2 x p(k) - p(k - 1), with p(0) = 1 and
// p(1) = `first`.
template <typename T>
inline T chebyshev_recurrence(T twice_x, T first, T n) {
    T before = 1, value = first;
    for (int64 k = 2; k <= int64(n) && value == value; ++k) {
        const T next = math::fma(twice_x, value, -before);
        before = value;
        value = next;
    }
    return value;
}

// ingot: hermite_recurrence
// Hermite polynomials: p(n) of p(k + 1) = a x p(k) - a k p(k - 1), with p(0) = 1 and
// p(1) = a x. The physicists' polynomials have a = 2, the probabilists' a = 1.
template <typename T>
inline T hermite_recurrence(T ax, T a, T n) {
    T before = 1, value = ax;
    for (int64 k = 1; k < int64(n); ++k) {
        const T next = math::fma(ax, value, -(a * T(k) * before));
        before = value;
        value = next;
    }
    return value;
}

// ingot: laguerre_recurrence
// Laguerre polynomials: p(n) of p(k + 1) = ((2 k + 1 - x) p(k) - k p(k - 1)) / (k + 1), with
// p(0) = 1 and p(1) = 1 - x.
template <typename T>
inline T laguerre_recurrence(T x, T n) {
    T before = 1, value = 1 - x;
    for (int64 k = 1; k < int64(n) && value == value; ++k) {
        const T next = math::fma(T(k + k) + (1 - x), value, -(T(k) * before)) / T(k + 1);
        before = value;
        value = next;
    }
    return value;
}

// ingot: legendre_recurrence
// Legendre polynomials: p(n) of p(k + 1) = ((2 k + 1) x p(k) - k p(k - 1)) / (k + 1), with
// p(0) = 1 and p(1) = x.
template <typename T>
inline T legendre_recurrence(T x, T n) {
    T before = 1, value = x;
    for (int64 k = 1; k < int64(n) && value == value; ++k) {
        const T next = math::fma(T(k + k + 1) * x, value, -(T(k) * before)) / T(k + 1);
        before = value;
        value = next;
    }
    return value;
}
