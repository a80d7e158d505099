#include "ir/types/dtype.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace ingot::ir {
namespace {

struct DTypeRow {
  std::string_view name;
  std::string_view short_name;
  int size;
  Category category;
};

constexpr std::array<DTypeRow, kDTypeCount> kRows{{
    {"bool", "bool", 1, Category::Bool},
    {"uint8", "u8", 1, Category::Integral},
    {"int8", "i8", 1, Category::Integral},
    {"int16", "i16", 2, Category::Integral},
    {"int32", "i32", 4, Category::Integral},
    {"int64", "i64", 8, Category::Integral},
    {"uint16", "u16", 2, Category::Integral},
    {"uint32", "u32", 4, Category::Integral},
    {"uint64", "u64", 8, Category::Integral},
    {"float8_e4m3fn", "f8e4m3fn", 1, Category::Floating},
    {"float8_e5m2", "f8e5m2", 1, Category::Floating},
    {"float8_e4m3fnuz", "f8e4m3fnuz", 1, Category::Floating},
    {"float8_e5m2fnuz", "f8e5m2fnuz", 1, Category::Floating},
    {"float16", "f16", 2, Category::Floating},
    {"bfloat16", "bf16", 2, Category::Floating},
    {"float32", "f32", 4, Category::Floating},
    {"float64", "f64", 8, Category::Floating},
}};

constexpr std::array<std::pair<std::string_view, DType>, 6> kAliases{{
    {"half", DType::F16},
    {"float", DType::F32},
    {"double", DType::F64},
    {"short", DType::I16},
    {"int", DType::I32},
    {"long", DType::I64},
}};

const DTypeRow& row(DType type) { return kRows[static_cast<size_t>(type)]; }

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// A binary float format with `digits` significant bits whose smallest denormal is 2^min_exponent.
struct Format {
  int digits, min_exponent;
  double largest;
  double overflow = kInfinity;  ///< the value that replaces a number past the largest
  bool has_negative_zero = true;
};

Format format_of(DType type) {
  switch (type) {
    case DType::F8E4M3FN:
      return {4, -9, 448.0, kNaN};
    case DType::F8E5M2:
      return {3, -16, 57344.0};
    case DType::F8E4M3FNUZ:
      return {4, -10, 240.0, kNaN, false};
    case DType::F8E5M2FNUZ:
      return {3, -17, 57344.0, kNaN, false};
    case DType::F16:
      return {11, -24, 65504.0};
    default:
      return {8, -133, 0x1.fep127};
  }
}

double round_to_format(const Format& format, double value) {
  if (std::isnan(value)) return value;
  double rounded = value;
  if (value != 0 && std::isfinite(value)) {
    int exponent;
    std::frexp(value, &exponent);
    const int unit = std::max(exponent - format.digits, format.min_exponent);
    rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  }
  if (rounded == 0 && !format.has_negative_zero) return 0;
  return std::abs(rounded) <= format.largest ? rounded : std::copysign(format.overflow, value);
}

}  // namespace

Category category(DType type) { return row(type).category; }
int size_of(DType type) { return row(type).size; }
std::string_view name_of(DType type) { return row(type).name; }
std::string_view short_name(DType type) { return row(type).short_name; }

std::optional<DType> promote(DType a, DType b) {
  const auto [low, high] = std::minmax(a, b);
  if (low == high) return high;
  if (is_float8(low) || is_float8(high)) return std::nullopt;
  if ((is_extended_unsigned(low) || is_extended_unsigned(high)) && !is_floating(high)) return std::nullopt;
  if (category(low) != category(high)) return high;
  if (low == DType::U8) return std::max(high, DType::I16);  // int8 cannot hold every uint8
  if (low == DType::F16 && high == DType::BF16) return DType::F32;
  return high;
}

double round_to(DType type, double value) {
  if (type == DType::F64) return value;
  const double single = static_cast<float>(value);
  return type == DType::F32 ? single : round_to_format(format_of(type), single);
}

int64_t wrap_to(DType type, int64_t value) {
  switch (type) {
    case DType::U8:
      return static_cast<uint8_t>(value);
    case DType::I8:
      return static_cast<int8_t>(value);
    case DType::I16:
      return static_cast<int16_t>(value);
    case DType::I32:
      return static_cast<int32_t>(value);
    case DType::U16:
      return static_cast<uint16_t>(value);
    case DType::U32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (name == name_of(type) || name == short_name(type)) return type;
  }
  for (const auto& [alias, type] : kAliases) {
    if (name == alias) return type;
  }
  return std::nullopt;
}

}  // namespace ingot::ir
