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
    {"float16", "f16", 2, Category::Floating},
    {"bfloat16", "bf16", 2, Category::Floating},
    {"float32", "f32", 4, Category::Floating},
    {"float64", "f64", 8, Category::Floating},
}};

constexpr std::array<std::pair<std::string_view, DType>, 6> kOtherSpellings{{
    {"half", DType::F16},
    {"float", DType::F32},
    {"double", DType::F64},
    {"short", DType::I16},
    {"int", DType::I32},
    {"long", DType::I64},
}};

const DTypeRow& row(DType type) { return kRows[static_cast<size_t>(type)]; }

/// Rounds to a binary float of `digits` significant bits whose smallest denormal is 2^least.
double round_to_digits(double value, int digits, int least, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent;
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - digits, least);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  if (std::abs(rounded) <= largest) return rounded;
  return std::copysign(std::numeric_limits<double>::infinity(), value);
}

}  // namespace

Category category(DType type) { return row(type).category; }
int size_of(DType type) { return row(type).size; }
std::string_view name_of(DType type) { return row(type).name; }
std::string_view short_name(DType type) { return row(type).short_name; }

DType promote(DType a, DType b) {
  const auto [low, high] = std::minmax(a, b);
  if (low == high || category(low) != category(high)) return high;
  if (low == DType::U8) return std::max(high, DType::I16);  // int8 holds no uint8
  if (low == DType::F16 && high == DType::BF16) return DType::F32;
  return high;
}

double round_to(DType type, double value) {
  if (type == DType::F64) return value;
  const double single = static_cast<float>(value);
  if (type == DType::F16) return round_to_digits(single, 11, -24, 65504.0);
  if (type == DType::BF16) return round_to_digits(single, 8, -133, 0x1.fep127);
  return single;
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
    default:
      return value;
  }
}

std::optional<DType> parse_dtype(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    if (name == name_of(type) || name == short_name(type)) return type;
  }
  for (const auto& [spelling, type] : kOtherSpellings) {
    if (name == spelling) return type;
  }
  return std::nullopt;
}

}  // namespace ingot::ir
