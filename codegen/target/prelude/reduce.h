// How reductions combine two partial results, for both targets.

// ingot: Sum
struct Sum {
    template <typename T>
    static inline T of(T a, T b) {
        return a + b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a + (unsigned long long)b);
    }
};

// ingot: Product
struct Product {
    template <typename T>
    static inline T of(T a, T b) {
        return a * b;
    }
    static inline int64 of(int64 a, int64 b) {
        return int64((unsigned long long)a * (unsigned long long)b);
    }
};

// ingot: AnyOf
struct AnyOf {
    static inline bool of(bool a, bool b) { return a || b; }
};

// ingot: AllOf
struct AllOf {
    static inline bool of(bool a, bool b) { return a && b; }
};

// ingot: Largest
// NaN if either is NaN; a if they are equal.
struct Largest {
    template <typename T>
    static inline T of(T a, T b) {
        return a > b ? a : b;
    }
    static inline float of(float a, float b) { return maximum(b, a); }
    static inline double of(double a, double b) { return maximum(b, a); }
};

// ingot: Smallest
// NaN if either is NaN; a if they are equal.
struct Smallest {
    template <typename T>
    static inline T of(T a, T b) {
        return a < b ? a : b;
    }
    static inline float of(float a, float b) { return minimum(b, a); }
    static inline double of(double a, double b) { return minimum(b, a); }
};

// ingot: FirstLargest
struct FirstLargest {
    template <typename T, typename I>
    static inline void take(T& best, I& index, T value, I at) {
        take_larger(best, index, value, at);
    }
};

// ingot: FirstSmallest
struct FirstSmallest {
    template <typename T, typename I>
    static inline void take(T& best, I& index, T value, I at) {
        take_smaller(best, index, value, at);
    }
};

// ingot: Found
// A value and its index.
template <typename T, typename I>
struct Found {
    T value;
    I index;
};
