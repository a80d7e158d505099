#include "codegen/print/expressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <ranges>

#include "codegen/target/literals.h"
#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

constexpr int64_t kWarp = 32;  ///< threads of a warp

Text literal_text(const Value& value) {
  const ir::DType dtype = value.type.dtype;
  std::string text = literal(value.number, dtype);
  if (ir::is_narrow_float(dtype)) text = fmt::format("{}({})", type_name(dtype), text);
  const Precedence precedence = text[0] == '-' ? Precedence::Unary : Precedence::Primary;
  return {std::move(text), precedence};
}

/// "a, b".
std::string list_text(std::span<const Text> operands) {
  return fmt::format("{}", fmt::join(operands | std::views::transform(&Text::text), ", "));
}

/// "function(a, b)".
Text call_text(std::string_view function, std::span<const Text> operands) {
  return {fmt::format("{}({})", function, list_text(operands))};
}

/// A load that is executed only if the third operand holds, and otherwise gives zero.
Text element_or_zero(ir::DType dtype, std::span<const Text> operands) {
  static const Spelling spelling("a ? b : c");
  const bool is_compute_type = ir::compute_type(dtype) == dtype;
  const std::string zero =
      is_compute_type ? literal(ir::HostValue::of(int64_t{0}), dtype) : fmt::format("{}()", type_name(dtype));
  const Text element{fmt::format("{}[{}]", operands[0].text, operands[1].text)};
  return spelling.fill(std::array{operands[2], element, Text{zero}});
}

const Spelling& spelling_of(IndexOp op, bool is_cuda) {
  static constexpr std::string_view kPatterns[] = {"a + b",
                                                   "a - b",
                                                   "a * b",
                                                   "a / b",
                                                   "short_quotient(a, b)",
                                                   "repeated_quotient(a, b)",
                                                   "a % b",
                                                   "repeated_remainder(a, b)",
                                                   "min(a, b)",
                                                   "a | b",
                                                   "a < b",
                                                   "a <= b",
                                                   "a == b",
                                                   "a != b",
                                                   "a && b",
                                                   "a || b"};
  static const std::vector<Spelling> kSpellings(std::begin(kPatterns), std::end(kPatterns));
  static const Spelling kCpuMin("smaller_of(a, b)");
  return op == IndexOp::Min && !is_cuda ? kCpuMin : kSpellings[static_cast<size_t>(op)];
}

/// Div or Rem for a division by a shared reciprocal; other operations unchanged.
IndexOp without_reciprocal(IndexOp op) {
  return op == IndexOp::ShortDiv || op == IndexOp::RepeatedDiv ? IndexOp::Div
         : op == IndexOp::RepeatedRem                          ? IndexOp::Rem
                                                               : op;
}

}  // namespace

std::string type_text(const Type& type) {
  const std::string name(type_name(type.dtype));
  return type.lanes > 1 ? fmt::format("Vec<{}, {}>", name, type.lanes) : name;
}

/// On CUDA extents are unsigned, because division by them is faster. So is then the quotient or remainder of an int by
/// an extent. Multiplied by a negative stride it would wrap, so it is cast to int first.
bool Expressions::is_unsigned(ValueId id) const {
  const Value& value = kernel_[id];
  if (!kernel_.target.cuda() || has_name(id) || value.kind != Value::Kind::Index) return false;
  const IndexOp op = without_reciprocal(value.index);
  return (op == IndexOp::Div || op == IndexOp::Rem) && value.type.dtype == ir::DType::I32;
}

Text Expressions::text(ValueId id) const { return has_name(id) ? Text{names_[id.index]} : formula(id); }

Text Expressions::formula(ValueId id) const {
  static const Spelling element("a[b]");
  const Value& value = kernel_[id];
  std::vector<Text> operands;
  for (const ValueId operand : value.operands) operands.push_back(text(operand));
  const Target::Kind target = kernel_.target.kind;
  switch (value.kind) {
    case Value::Kind::Literal:
      return literal_text(value);
    case Value::Kind::Symbol:
      return {kernel_[value.symbol].name};
    case Value::Kind::Block:
      return {"blockIdx.x"};
    case Value::Kind::Thread:
      return {"threadIdx.x"};
    case Value::Kind::Index:
      if (value.index == IndexOp::Add || value.index == IndexOp::Sub || value.index == IndexOp::Mul)
        for (size_t k = 0; k < operands.size(); ++k)
          if (is_unsigned(value.operands[k])) operands[k] = {fmt::format("int({})", operands[k].text)};
      return spelling_of(are_for_comments_ ? without_reciprocal(value.index) : value.index, kernel_.target.cuda())
          .fill(operands);
    case Value::Kind::Load:
      if (operands.size() > 2) return element_or_zero(value.type.dtype, operands);
      [[fallthrough]];
    case Value::Kind::Element:
      return {fmt::format("{}[{}]", operands[0].text, operands[1].text)};
    case Value::Kind::Pointee:
      return {"*" + operands[0].text, Precedence::Unary};
    case Value::Kind::Vector:
      return call_text(fmt::format("{}<{}>", operands.size() > 2 ? "load_if" : "load", value.type.lanes), operands);
    case Value::Kind::Shifted:
      return call_text(fmt::format("load_shifted<{}>", value.type.lanes), operands);
    case Value::Kind::VectorEnd:
      return call_text(fmt::format("load_until<{}>", value.type.lanes), operands);
    case Value::Kind::ShiftedInRow:
      return call_text(fmt::format("load_in_row<{}>", value.type.lanes), operands);
    case Value::Kind::HoldsForAnyRow:
      return {fmt::format("{}{})", value.number.as_int() > kWarp ? "__syncthreads_or(" : "__any_sync(~0u, ",
                          operands[0].text)};
    case Value::Kind::Quotient:
      return call_text(operands.size() == 3   ? "quotient_by"
                       : value.type.lanes > 1 ? "quotients"
                                              : "quotient_of",
                       operands);
    case Value::Kind::Reciprocal:
      return call_text("reciprocal_of", operands);
    case Value::Kind::ExpOfNonPositive:
      return call_text("decay_of", operands);
    case Value::Kind::Pack:
      return {fmt::format("{}{{{}}}", type_text(value.type), list_text(operands))};
    case Value::Kind::Wrap:
      return call_text("wrap_index", operands);
    case Value::Kind::Check: {
      static const Spelling guarded("a ? b : 0");
      const Text checked = {
          fmt::format("check_index({}, {})", list_text(std::span(operands).first(3)), value.number.as_int())};
      return operands.size() < 4 ? checked : guarded.fill(std::array{operands[3], checked});
    }
    case Value::Kind::Primitive:
      if (kernel_.uses_reproducible_functions)
        if (const auto reproducible = spell_reproducible(value.op, value.operand_type, operands)) return *reproducible;
      return spell(target, value.op, value.operand_type, operands);
    case Value::Kind::Cast:
      if (kernel_.bfloat16_needs_no_nan_check && value.operand_type == ir::DType::F32 &&
          value.type.dtype == ir::DType::BF16)
        return call_text("to_bfloat16", operands);
      return spell_cast(target, value.operand_type, value.type.dtype, operands[0]);
    case Value::Kind::Bitcast:
      return call_text(fmt::format("bit_cast<{}>", type_name(value.type.dtype)), operands);
  }
  return {};
}

}  // namespace ingot::codegen
