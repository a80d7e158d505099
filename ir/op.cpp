#include "ir/op.h"

#include <fmt/format.h>

#include "base/error.h"

namespace ingot::ir {
namespace {

using namespace accepted;

constexpr OpInfo kPrimitives[] = {
#define INGOT_OP(id, name, arity, rule, accepts, accuracy, cost, numbers, summary) \
  {Op::id, #id, name, arity, Rule::rule, accepts, Accuracy::accuracy, cost, ScalarOperands::numbers, summary},
#include "ir/ops.def"
#undef INGOT_OP
};

constexpr std::string_view kStructural[] = {"Load", "Gather", "Scalar", "Index", "Cast", "Bitcast", "Call", "Reduce"};
constexpr size_t kFirstPrimitive = std::size(kStructural);
static_assert(kFirstPrimitive == static_cast<size_t>(kLastStructural) + 1);

}  // namespace

std::span<const OpInfo> primitives() { return kPrimitives; }

bool is_primitive(Op op) { return static_cast<size_t>(op) >= kFirstPrimitive; }

const OpInfo& info(Op op) {
  if (!is_primitive(op)) throw_internal(fmt::format("{} is not a primitive", id_of(op)));
  return kPrimitives[static_cast<size_t>(op) - kFirstPrimitive];
}

std::string_view id_of(Op op) {
  const auto index = static_cast<size_t>(op);
  return is_primitive(op) ? kPrimitives[index - kFirstPrimitive].id : kStructural[index];
}

std::optional<Op> primitive_named(std::string_view name) {
  for (const OpInfo& row : kPrimitives) {
    if (row.name == name) return row.op;
  }
  return std::nullopt;
}

}  // namespace ingot::ir
