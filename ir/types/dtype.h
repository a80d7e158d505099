#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ingot::ir {

/// The element types of tensors, ordered by PyTorch's category (bool, integral, floating) and then by width.
enum class DType : uint8_t { Bool, U8, I8, I16, I32, I64, F16, BF16, F32, F64 };
inline constexpr int kDTypeCount = 10;

/// PyTorch's category, in the order in which promotion compares them.
enum class Category : uint8_t { Bool, Integral, Floating };

Category category(DType type);
/// Bytes of one element.
int size_of(DType type);
inline bool is_floating(DType type) { return category(type) == Category::Floating; }
inline bool is_signed(DType type) { return type != DType::Bool && type != DType::U8; }
inline bool is_half(DType type) { return type == DType::F16 || type == DType::BF16; }

/// The type in which arithmetic on `type` is done: float32 for the two 16-bit floats, itself for the others.
inline DType compute_type(DType type) { return is_half(type) ? DType::F32 : type; }

/// torch.promote_types.
DType promote(DType a, DType b);

/// PyTorch's name ("float32") and Ingot's short one ("f32").
std::string_view name_of(DType type);
std::string_view short_name(DType type);
/// Reads either of them, and PyTorch's other spellings ("float", "half", "long", …).
std::optional<DType> parse_dtype(std::string_view name);

/// The value of the floating `type` nearest to `value`, ties to even. To a 16-bit type it goes through float32, as a
/// Python number that PyTorch converts does.
double round_to(DType type, double value);
/// `value` modulo the width of the integral `type`, as C's conversion has it.
int64_t wrap_to(DType type, int64_t value);

}  // namespace ingot::ir
