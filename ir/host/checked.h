#pragma once

#include <cstdint>
#include <stdexcept>

// Python's integer arithmetic in 64 bits. A result that does not fit throws std::domain_error; it is never wrapped.

namespace ingot::ir {

[[noreturn]] inline void throw_too_large() { throw std::domain_error("the integer does not fit in 64 bits"); }

inline int64_t checked_add(int64_t x, int64_t y) {
  int64_t result;
  if (__builtin_add_overflow(x, y, &result)) throw_too_large();
  return result;
}

inline int64_t checked_sub(int64_t x, int64_t y) {
  int64_t result;
  if (__builtin_sub_overflow(x, y, &result)) throw_too_large();
  return result;
}

inline int64_t checked_mul(int64_t x, int64_t y) {
  int64_t result;
  if (__builtin_mul_overflow(x, y, &result)) throw_too_large();
  return result;
}

inline constexpr const char* kModByZero = "integer modulo by zero";
inline constexpr const char* kFloorDivByZero = "integer division or modulo by zero";

/// x % y with the sign of y.
inline int64_t floor_mod(int64_t x, int64_t y) {
  if (y == 0) throw std::domain_error(kModByZero);
  if (y == -1) return 0;
  const int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/// x // y, rounded towards minus infinity.
inline int64_t floor_div(int64_t x, int64_t y) {
  if (y == 0) throw std::domain_error(kFloorDivByZero);
  if (y == -1) return checked_sub(0, x);
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

}  // namespace ingot::ir
