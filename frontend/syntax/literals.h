#pragma once

#include <cstdint>

#include "base/source.h"

namespace ingot::frontend {

/// A number as Python writes it: 1_000, 0xff, 0b1, 0o7, 1., .5, 1e-3.
struct NumberLiteral {
  bool is_float = false;
  uint64_t integer = 0;  ///< at most 2**63, which only a minus sign before it makes an int64
  double real = 0;
};

/// Reads the whole span as a number. Errors (Author): what Python refuses, complex numbers, an integer past 2**63.
NumberLiteral read_number_literal(Span span);

/// The value of a digit in bases up to 36; 36 for what is none.
uint32_t digit_value(char c);

}  // namespace ingot::frontend
