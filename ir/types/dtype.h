#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::ir {

/// The element types of tensors. The types that promote with one another are ordered by PyTorch's category (bool,
/// integral, floating) and then by width. An F8 type has the name of PyTorch's float8 dtype: e4m3fn has 4 bits of
/// exponent and 3 of mantissa.
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

/// PyTorch's category of a dtype, in promotion order.
enum class Category : uint8_t { Bool, Integral, Floating };

Category category(DType type);
/// Size of one element in bytes.
int size_of(DType type);
inline bool is_floating(DType type) { return category(type) == Category::Floating; }
/// Whether `type` is uint16, uint32 or uint64. PyTorch added these dtypes later, and few of its functions accept them.
inline bool is_extended_unsigned(DType type) { return type >= DType::U16 && type <= DType::U64; }
inline bool is_float8(DType type) { return type >= DType::F8E4M3FN && type <= DType::F8E5M2FNUZ; }
inline bool is_signed(DType type) { return type != DType::Bool && type != DType::U8 && !is_extended_unsigned(type); }
/// Whether `type` is a float of 8 or 16 bits. Values of such a type are only converted from and to float32.
inline bool is_narrow_float(DType type) { return type >= DType::F8E4M3FN && type <= DType::BF16; }

/// The type in which arithmetic on `type` is done: float32 for narrow floats, else `type` itself.
inline DType compute_type(DType type) { return is_narrow_float(type) ? DType::F32 : type; }

/// torch.promote_types. Returns nullopt if PyTorch raises an error: a float8 type promotes only with itself, an
/// extended unsigned type only with itself and with floats that are not float8.
std::optional<DType> promote(DType a, DType b);

/// PyTorch's name ("float32") and Ingot's short name ("f32").
std::string_view name_of(DType type);
std::string_view short_name(DType type);
/// Parses either of these names, and PyTorch's aliases ("float", "half", "long", …).
std::optional<DType> parse_dtype(std::string_view name);

/// Rounds `value` to the nearest value of the floating `type`, ties to even. For a narrow type, rounds to float32
/// first, as PyTorch does when it converts a Python number. A value past the largest of a float8 type without infinity
/// becomes NaN.
double round_to(DType type, double value);
/// Wraps `value` modulo the width of the integral `type`, as a C conversion does. A uint64 is represented by its bits.
int64_t wrap_to(DType type, int64_t value);

}  // namespace ingot::ir
