#include "codegen/target/literals.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/text.h"

namespace ingot::codegen {
namespace {

std::string float_literal(double value, bool is_single) {
  const std::string sign = std::signbit(value) ? "-" : "";
  if (std::isnan(value)) return is_single ? "nan" : "double(nan)";
  if (std::isinf(value)) return sign + (is_single ? "inf" : "double(inf)");
  return is_single ? round_trip(static_cast<float>(value)) + "f" : round_trip(value);
}

std::string integer_literal(int64_t value, ir::DType dtype) {
  if (dtype == ir::DType::U32) return fmt::format("{}u", value);
  if (dtype == ir::DType::U64) return fmt::format("{}ull", static_cast<uint64_t>(value));
  if (dtype == ir::DType::I64)
    return value == std::numeric_limits<int64_t>::min() ? "(-9223372036854775807LL - 1)" : fmt::format("{}LL", value);
  return value == std::numeric_limits<int32_t>::min() ? "(-2147483647 - 1)" : fmt::format("{}", value);
}

/// Converts a float to an integer, truncating towards zero; out of range it gives the smallest integer, as conversions
/// on x86 do.
int64_t truncate(double value) {
  constexpr double kLimit = 9223372036854775808.0;
  return value >= -kLimit && value < kLimit ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::min();
}

}  // namespace

std::string literal(ir::HostValue value, ir::DType dtype) {
  switch (dtype) {
    case ir::DType::Bool:
      return value.truthy() ? "true" : "false";
    case ir::DType::F64:
      return float_literal(value.as_double(), false);
    case ir::DType::F8E4M3FN:
    case ir::DType::F8E5M2:
    case ir::DType::F8E4M3FNUZ:
    case ir::DType::F8E5M2FNUZ:
    case ir::DType::F16:
    case ir::DType::BF16:
    case ir::DType::F32: {
      const auto narrow = static_cast<float>(value.as_double());
      return float_literal(std::isnan(value.as_double()) ? value.as_double() : double{narrow}, true);
    }
    default: {
      const int64_t whole = value.kind == ir::HostKind::Float ? truncate(value.as_double()) : value.as_int();
      return integer_literal(ir::wrap_to(dtype, whole), dtype);
    }
  }
}

}  // namespace ingot::codegen
