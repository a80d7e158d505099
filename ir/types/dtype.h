#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::ir {

/// The element types of tensors: those that promote with one another are ordered by PyTorch's category (bool, integral,
/// floating) and then by width. An F8 is named after PyTorch's float8: e4m3fn has 4 bits of exponent and 3 of mantissa.
enum class DType : uint8_t {
  Bool,
  U8,
  I8,
  I16,
  I32,
  I64,
  U16,
  U32,
  U64,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F16,
  BF16,
  F32,
  F64
};
inline constexpr int kDTypeCount = 17;

/// PyTorch's category, in the order in which promotion compares them.
enum class Category : uint8_t { Bool, Integral, Floating };

Category category(DType type);
/// Bytes of one element.
int size_of(DType type);
inline bool is_floating(DType type) { return category(type) == Category::Floating; }
/// PyTorch's later unsigned types, which few of its functions take: uint16, uint32, uint64.
inline bool is_wide_unsigned(DType type) { return type >= DType::U16 && type <= DType::U64; }
inline bool is_float8(DType type) { return type >= DType::F8E4M3FN && type <= DType::F8E5M2FNUZ; }
inline bool is_signed(DType type) { return type != DType::Bool && type != DType::U8 && !is_wide_unsigned(type); }
/// Whether it is a float of 8 or 16 bits, whose values are converted from and to float32 alone.
inline bool is_narrow_float(DType type) { return type >= DType::F8E4M3FN && type <= DType::BF16; }

/// The type in which arithmetic on `type` is done: float32 for the narrow floats, itself for the others.
inline DType compute_type(DType type) { return is_narrow_float(type) ? DType::F32 : type; }

/// torch.promote_types; nothing where PyTorch refuses: a float8 promotes with itself alone, a wide unsigned type with
/// itself and with floats.
std::optional<DType> promote(DType a, DType b);

/// PyTorch's name ("float32") and Ingot's short one ("f32").
std::string_view name_of(DType type);
std::string_view short_name(DType type);
/// Reads either of them, and PyTorch's other spellings ("float", "half", "long", …).
std::optional<DType> parse_dtype(std::string_view name);

/// The value of the floating `type` nearest to `value`, ties to even. To a narrow type it goes through float32, as a
/// Python number that PyTorch converts does. Beyond the largest, a float8 without infinity is NaN.
double round_to(DType type, double value);
/// `value` modulo the width of the integral `type`, as C's conversion has it; of a uint64 the bits.
int64_t wrap_to(DType type, int64_t value);

}  // namespace ingot::ir
