#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "codegen/target/target.h"
#include "ir/op.h"

// Reference results for each primitive, in C++ or mathematics, and the sample values.

namespace ingot::codegen {

using ir::Op;

/// The values from which operands are made; all pairs are tested.
template <typename T>
std::vector<T> samples() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {T(0),
            T(-0.0),
            T(0.3),
            T(-0.3),
            T(0.5),
            T(1),
            T(-1),
            T(1.5),
            T(2),
            T(2.5),
            T(-2.5),
            T(3),
            T(-3.7),
            T(7),
            T(-12),
            T(41.25),
            Limits::infinity(),
            -Limits::infinity(),
            Limits::quiet_NaN(),
            Limits::denorm_min(),
            -Limits::denorm_min() * 5,
            Limits::max(),
            Limits::lowest(),
            Limits::min()};
  } else {
    using Limits = std::numeric_limits<T>;
    return {T(0),
            T(1),
            T(2),
            T(3),
            T(5),
            T(7),
            T(8),
            T(31),
            T(64),
            T(100),
            T(-1),
            T(-2),
            T(-3),
            T(-100),
            Limits::min(),
            Limits::max(),
            T(Limits::max() - 1)};
  }
}

/// a wrapped to T, as in two's complement.
template <typename T>
T wrap(__int128 a) {
  return static_cast<T>(static_cast<std::make_unsigned_t<T>>(static_cast<unsigned __int128>(a)));
}

/// The result of an op on integers; nullopt if PyTorch does not specify it.
template <typename T>
std::optional<T> expected_integer(Op op, T x, T y) {
  const __int128 a = x, b = y;
  constexpr int kBits = 8 * sizeof(T);
  const bool out_of_range = b < 0 || b >= kBits;
  switch (op) {
    case Op::Add:
      return wrap<T>(a + b);
    case Op::Sub:
      return wrap<T>(a - b);
    case Op::Mul:
      return wrap<T>(a * b);
    case Op::FloorDivide:
      return b == 0 ? std::nullopt : std::optional(wrap<T>(a / b - (a % b != 0 && (a < 0) != (b < 0))));
    case Op::TruncDivide:
      return b == 0 ? std::nullopt : std::optional(wrap<T>(a / b));
    case Op::Remainder:
      return b == 0 ? std::nullopt : std::optional(wrap<T>((a % b + b) % b));
    case Op::Fmod:
      return b == 0 ? std::nullopt : std::optional(wrap<T>(a % b));
    case Op::Pow:
    case Op::PowNumber: {
      if (b < 0) return a == 1 ? T(1) : a == -1 ? T(b % 2 == 0 ? 1 : -1) : T(0);
      if (b > 200) return std::nullopt;
      T power = 1;
      for (__int128 k = 0; k < b; ++k) power = wrap<T>(static_cast<__int128>(power) * a);
      return power;
    }
    case Op::Gcd: {
      // Uses the wrapped absolute values, as PyTorch does: the smallest integer stays negative.
      __int128 low = wrap<T>(a < 0 ? -a : a), high = wrap<T>(b < 0 ? -b : b);
      while (low != 0) std::swap(low, high %= low);
      return wrap<T>(high);
    }
    case Op::Neg:
      return wrap<T>(-a);
    case Op::Abs:
      return wrap<T>(a < 0 ? -a : a);
    case Op::Sign:
      return wrap<T>((a > 0) - (a < 0));
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Round:
      return x;
    case Op::Maximum:
    case Op::Fmax:
      return std::max(x, y);
    case Op::Minimum:
    case Op::Fmin:
      return std::min(x, y);
    case Op::BitwiseAnd:
      return wrap<T>(a & b);
    case Op::BitwiseOr:
      return wrap<T>(a | b);
    case Op::BitwiseXor:
      return wrap<T>(a ^ b);
    case Op::BitwiseNot:
      return wrap<T>(~a);
    case Op::ShiftLeft:
      return out_of_range ? T(0) : wrap<T>(static_cast<__int128>(static_cast<unsigned __int128>(a) << b));
    case Op::ShiftRight:
      return out_of_range ? T(a < 0 ? -1 : 0) : T(a >> b);
    default:
      ADD_FAILURE() << ir::id_of(op);
      return std::nullopt;
  }
}

inline bool expected_bool(Op op, bool a, bool b) {
  switch (op) {
    case Op::Add:
    case Op::Maximum:
    case Op::Fmax:
    case Op::BitwiseOr:
    case Op::LogicalOr:
      return a || b;
    case Op::Mul:
    case Op::Minimum:
    case Op::Fmin:
    case Op::BitwiseAnd:
    case Op::LogicalAnd:
      return a && b;
    case Op::BitwiseXor:
    case Op::LogicalXor:
      return a != b;
    case Op::BitwiseNot:
    case Op::LogicalNot:
      return !a;
    case Op::Sign:
      return a;
    default:
      ADD_FAILURE() << ir::id_of(op);
      return false;
  }
}

/// The bit-exact result of an op that is computed exactly, or correctly rounded (Accuracy::Exact), on floats; nothing
/// if targets may differ.
template <typename T>
std::optional<T> expected_exact(Op op, T a, T b, const Target& target) {
  const bool is_cuda = target.kind == Target::Kind::Cuda;
  const bool is_finite = std::isfinite(a) && std::isfinite(b);
  const bool has_nan = std::isnan(a) || std::isnan(b);
  switch (op) {
    case Op::Add:
      return a + b;
    case Op::Sub:
      return a - b;
    case Op::Mul:
      return a * b;
    case Op::Div:
      return a / b;
    case Op::FloorDivide:
      if (!is_finite || b == 0 || std::fabs(a) > 100 || std::fabs(b) > 100 || std::fabs(b) < T(0.1))
        return std::nullopt;
      return static_cast<T>(std::floor(static_cast<long double>(a) / b));
    case Op::TruncDivide:
      return std::trunc(a / b);
    case Op::Remainder: {
      const T rest = std::fmod(a, b);
      return rest != 0 && std::signbit(rest) != std::signbit(b) ? rest + b : rest;
    }
    case Op::Fmod:
      return std::fmod(a, b);
    case Op::Neg:
      return -a;
    case Op::Abs:
      return std::fabs(a);
    case Op::Sign:
      return T((a > 0) - (a < 0));
    case Op::Reciprocal:
      return 1 / a;
    case Op::Sqrt:
      return std::sqrt(a);
    case Op::Floor:
      return std::floor(a);
    case Op::Ceil:
      return std::ceil(a);
    case Op::Trunc:
      return std::trunc(a);
    case Op::Round:
      return std::nearbyint(a);
    // Eager's vectorised CPU kernels return b if a equals b: the second of two zeros. CUDA distinguishes zeros by sign,
    // if an instruction computes the result. For float64, and for all types before sm_80, the generated CUDA source
    // calls a function such as fmax. These tests run that call as the host's function, whose sign of zero is
    // unspecified.
    case Op::Maximum:
      if (a == 0 && b == 0 && is_cuda && (sizeof(T) == 8 || target.architecture < 80)) return std::nullopt;
      return has_nan ? std::numeric_limits<T>::quiet_NaN() : a == b && is_cuda && std::signbit(b) ? a : a > b ? a : b;
    case Op::Minimum:
      if (a == 0 && b == 0 && is_cuda && (sizeof(T) == 8 || target.architecture < 80)) return std::nullopt;
      return has_nan ? std::numeric_limits<T>::quiet_NaN() : a == b && is_cuda && std::signbit(a) ? a : a < b ? a : b;
    case Op::Fmax:
      return a == b && a == 0 && is_cuda ? std::nullopt
                                         : std::optional(std::isnan(b)   ? a
                                                         : std::isnan(a) ? b
                                                         : a >= b        ? a
                                                                         : b);
    case Op::Fmin:
      return a == b && a == 0 && is_cuda ? std::nullopt
                                         : std::optional(std::isnan(b)   ? a
                                                         : std::isnan(a) ? b
                                                         : a <= b        ? a
                                                                         : b);
    case Op::Copysign:
      return std::copysign(a, b);
    case Op::Nextafter:
      return std::nextafter(a, b);
    default:
      ADD_FAILURE() << ir::id_of(op);
      return std::nullopt;
  }
}

/// The result of any other op on floats, in more precision than the op's type; nullopt if the op is not in the list.
inline std::optional<long double> expected_real(Op op, long double a, long double b) {
  switch (op) {
    case Op::Pow:
      return std::pow(a, b);
    case Op::PowNumber:
      return std::pow(a, b);
    case Op::ApproximateReciprocal:
      return 1 / a;
    case Op::Rsqrt:
      return 1 / std::sqrt(a);
    case Op::Exp:
      return std::exp(a);
    case Op::Exp2:
      return std::exp2(a);
    case Op::Expm1:
      return std::expm1(a);
    case Op::Log:
      return std::log(a);
    case Op::Log2:
      return std::log2(a);
    case Op::Log10:
      return std::log10(a);
    case Op::Log1p:
    case Op::Log1pFinite:
      return std::log1p(a);
    case Op::Sin:
      return std::sin(a);
    case Op::Cos:
      return std::cos(a);
    case Op::Tan:
      return std::tan(a);
    case Op::Asin:
      return std::asin(a);
    case Op::Acos:
      return std::acos(a);
    case Op::Atan:
      return std::atan(a);
    case Op::Sinh:
      return std::sinh(a);
    case Op::Cosh:
      return std::cosh(a);
    case Op::Tanh:
      return std::tanh(a);
    case Op::Asinh:
      return std::asinh(a);
    case Op::Acosh:
      return std::acosh(a);
    case Op::Atanh:
      return std::atanh(a);
    case Op::Atan2:
      return std::atan2(a, b);
    case Op::Hypot:
      return std::hypot(a, b);
    case Op::Erf:
      return std::erf(a);
    case Op::Erfc:
      return std::erfc(a);
    case Op::Lgamma:
      return std::lgamma(a);
    case Op::Erfinv: {
      if (!(std::fabs(a) < 1)) return std::fabs(a) == 1 ? std::copysign(HUGE_VALL, a) : std::nanl("");
      long double low = 0, high = 8;  // erfc(8) is below the distance from 1 to the next double
      for (int step = 0; step < 100; ++step) {
        const long double middle = (low + high) / 2;
        (std::erfc(middle) > 1 - std::fabs(static_cast<long double>(a)) ? low : high) = middle;
      }
      return std::copysign(std::fabs(a) < 1e-9L ? std::fabs(a) * 0.886226925452758013649L : low, a);
    }
    case Op::ScaledErfc: {
      if (!(a >= 0 && a < 100)) return 1;
      const long double x = 400.0L / a - 4;  // the op computes exp(x * x) * erfc(x) from its operand a = 400 / (4 + x)
      if (x < 50) return std::exp(x * x) * std::erfc(x);
      long double term = 1, sum = 1;
      for (int k = 1; k <= 8; ++k) sum += term *= -(2 * k - 1) / (2 * x * x);
      return sum * 0.564189583547756286948L / x;
    }
    default:
      return std::nullopt;
  }
}

template <typename T>
bool expected_comparison(Op op, T a, T b) {
  const auto real = [](T x) { return static_cast<long double>(x); };
  switch (op) {
    case Op::Eq:
      return a == b;
    case Op::Ne:
      return a != b;
    case Op::Lt:
      return a < b;
    case Op::Le:
      return a <= b;
    case Op::Gt:
      return a > b;
    case Op::Ge:
      return a >= b;
    case Op::Isnan:
      return std::isnan(real(a));
    case Op::Isinf:
      return std::isinf(real(a));
    case Op::Isfinite:
      return std::isfinite(real(a));
    case Op::Signbit:
      return std::is_floating_point_v<T> ? std::signbit(real(a)) : a < T(0);
    default:
      ADD_FAILURE() << ir::id_of(op);
      return false;
  }
}

/// The error of `actual`, in ulps of T.
template <typename T>
double ulps(T actual, long double expected) {
  const T nearest = static_cast<T>(expected);
  if (std::isnan(actual) || std::isnan(nearest)) return std::isnan(actual) == std::isnan(nearest) ? 0 : INFINITY;
  if (actual == nearest) return actual != 0 || std::signbit(actual) == std::signbit(nearest) ? 0 : INFINITY;
  if (std::isinf(actual) || std::isinf(nearest)) return INFINITY;
  const T gap = std::nextafter(std::fabs(nearest), std::numeric_limits<T>::infinity()) - std::fabs(nearest);
  return static_cast<double>(std::fabs(static_cast<long double>(actual) - expected) / gap);
}

template <typename T>
bool same_bits(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof(T)) == 0;
}

}  // namespace ingot::codegen
