#pragma once

#include <cstdint>

#include "base/source.h"

namespace ingot::frontend {

/// A Python number literal: 1_000, 0xff, 0b1, 0o7, 1., .5, 1e-3.
struct NumberLiteral {
  bool is_float = false;
  uint64_t integer = 0;  ///< at most 2**63, which fits in int64 only after a minus sign
  double real = 0;
};

/// Reads the whole span as a number. Errors (Author): literals that Python rejects, complex numbers, integers past
/// 2**63.
NumberLiteral read_number_literal(Span span);

/// The value of a digit in bases up to 36; 36 for any other character.
uint32_t digit_value(char c);

}  // namespace ingot::frontend
