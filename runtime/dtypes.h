#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "ir/types/dtype.h"

namespace ingot::runtime {

/// Nothing for the types that Ingot has not: complex, quantized, the wide unsigned ones, float8.
constexpr std::optional<ir::DType> dtype_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool:
      return ir::DType::Bool;
    case c10::ScalarType::Byte:
      return ir::DType::U8;
    case c10::ScalarType::Char:
      return ir::DType::I8;
    case c10::ScalarType::Short:
      return ir::DType::I16;
    case c10::ScalarType::Int:
      return ir::DType::I32;
    case c10::ScalarType::Long:
      return ir::DType::I64;
    case c10::ScalarType::Half:
      return ir::DType::F16;
    case c10::ScalarType::BFloat16:
      return ir::DType::BF16;
    case c10::ScalarType::Float:
      return ir::DType::F32;
    case c10::ScalarType::Double:
      return ir::DType::F64;
    default:
      return std::nullopt;
  }
}

constexpr c10::ScalarType scalar_type(ir::DType type) {
  using enum c10::ScalarType;
  constexpr c10::ScalarType kTypes[ir::kDTypeCount] = {Bool, Byte, Char,     Short, Int,
                                                       Long, Half, BFloat16, Float, Double};
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace ingot::runtime
