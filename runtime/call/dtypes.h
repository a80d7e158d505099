#pragma once

#include <c10/core/ScalarType.h>

#include <optional>

#include "ir/types/dtype.h"

namespace ingot::runtime {

/// The dtype in Ingot; empty for unsupported types, such as complex and quantized ones.
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
    case c10::ScalarType::UInt16:
      return ir::DType::U16;
    case c10::ScalarType::UInt32:
      return ir::DType::U32;
    case c10::ScalarType::UInt64:
      return ir::DType::U64;
    case c10::ScalarType::Float8_e4m3fn:
      return ir::DType::F8E4M3FN;
    case c10::ScalarType::Float8_e5m2:
      return ir::DType::F8E5M2;
    case c10::ScalarType::Float8_e4m3fnuz:
      return ir::DType::F8E4M3FNUZ;
    case c10::ScalarType::Float8_e5m2fnuz:
      return ir::DType::F8E5M2FNUZ;
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
  constexpr c10::ScalarType kTypes[ir::kDTypeCount] = {Bool,
                                                       Byte,
                                                       Char,
                                                       Short,
                                                       Int,
                                                       Long,
                                                       UInt16,
                                                       UInt32,
                                                       UInt64,
                                                       Float8_e4m3fn,
                                                       Float8_e5m2,
                                                       Float8_e4m3fnuz,
                                                       Float8_e5m2fnuz,
                                                       Half,
                                                       BFloat16,
                                                       Float,
                                                       Double};
  return kTypes[static_cast<size_t>(type)];
}

}  // namespace ingot::runtime
