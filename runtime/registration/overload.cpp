#include "runtime/registration/overload.h"

#include <ATen/core/List.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "runtime/call/call_key.h"
#include "runtime/call/refusals.h"

namespace ingot::runtime {

namespace {

bool is_written(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

}  // namespace

bool Overload::takes_seed() const {
  const size_t parameters = op.parameters().size();
  if (parameters >= schema.arguments().size()) return false;
  const c10::Argument& next = schema.arguments()[parameters];
  return next.name() == "seed" && !is_written(next);
}

bool Overload::writes() const { return std::ranges::any_of(schema.arguments(), is_written); }

bool Overload::returns_list() const {
  return schema.returns().size() == 1 && schema.returns()[0].type()->kind() == c10::TypeKind::ListType;
}

uint64_t Overload::writable() const {
  uint64_t bits = 0;
  for (size_t i = 0; i < op.parameters().size() && i < 64; ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    // The parameters of the op of the leaves are the list's items: they have other indices.
    if (argument.real_type()->kind() == c10::TypeKind::ListType) return ~uint64_t{0};
    bits |= uint64_t(is_written(argument)) << i;
  }
  return bits;
}

DispatcherCall::DispatcherCall(const Overload& overload, c10::ArrayRef<c10::IValue> values)
    : op_(overload.op.state().shared_from_this()) {
  const size_t parameters = overload.op.parameters().size();
  for (size_t i = 0; i < parameters; ++i) {  // the dispatcher also passes None for omitted optional arguments
    const bool is_none = values[i].isNone() && !overload.op.parameters()[i].has_default;
    arguments_.push_back(is_none ? Argument(None) : argument(values[i], overload.is_number[i]));
  }
  if (overload.takes_seed()) {
    seed_ = values[parameters].toTensor();
    if (seed_.scalar_type() != at::kLong || seed_.dim() != 0)
      throw_author(Span{}, overload.op.name() + ": the seed is not a 0-dim int64 tensor",
                   "create one: torch.randint(2**63 - 1, (), device=x.device)");
  }
  const size_t first_extra = parameters + overload.takes_seed();
  if (!overload.is_backward) {
    for (size_t i = first_extra; i < values.size(); ++i) outs_.push_back(values[i].toTensor());
    return;
  }
  const c10::List<bool> requested = values.back().toBoolList();  // includes the seed, which has no gradient
  std::vector<Argument> gradients;
  for (const c10::IValue& value : values.slice(first_extra, values.size() - first_extra - 1))
    gradients.push_back(argument(value, false));
  op_ = op_->backward(arguments_, {requested.begin(), requested.end() - overload.takes_seed()}, gradients);
}

Argument DispatcherCall::argument(const c10::IValue& value, bool is_number) {
  if (value.isTensor()) {
    const at::Tensor& tensor = value.toTensor();
    if (!tensor.defined()) return {};
    if (is_number && tensor.is_cpu() && tensor.dim() == 0 && has_supported_keys(tensor))
      return Argument(value_of(tensor));
    return Argument(tensor);
  }
  if (value.isDouble()) return Argument(value.toDouble());
  if (value.isInt()) return Argument(value.toInt());
  if (value.isBool()) return Argument(value.toBool());
  if (value.isSymInt()) return Argument(value.toSymInt().guard_int(__FILE__, __LINE__));
  if (value.isList()) {
    ArgumentGroup& group = groups_.emplace_back();
    for (const c10::IValue& item : value.toListRef()) group.items.push_back(argument(item, false));
    return Argument(std::as_const(group));
  }
  return {};
}

void push_results(const Overload& overload, std::span<at::Tensor> results, torch::jit::Stack& stack) {
  const std::vector<c10::Argument>&arguments = overload.schema.arguments(), &returns = overload.schema.returns();
  const std::vector<c10::IValue> inputs = torch::jit::pop(stack, arguments.size());
  if (overload.returns_list())
    return torch::jit::push(stack, c10::List<at::Tensor>(c10::ArrayRef<at::Tensor>(results.data(), results.size())));
  const auto is_new = [](const c10::Argument& result) { return result.alias_info() == nullptr; };
  if (const auto expected = static_cast<size_t>(std::ranges::count_if(returns, is_new)); results.size() != expected)
    throw_author(Span{},
                 fmt::format("{}: the op returns {} results, but its schema declares {}", overload.op.name(),
                             results.size(), expected),
                 fmt::format("register it with a schema that declares {} results, or Tensor[]", results.size()));
  size_t next = 0;
  for (const c10::Argument& result : returns) {
    if (is_new(result)) {
      stack.emplace_back(std::move(results[next++]));
      continue;
    }
    for (size_t i = 0; i < arguments.size(); ++i)
      if (const auto* alias = arguments[i].alias_info(); alias != nullptr && *alias == *result.alias_info())
        stack.push_back(inputs[i]);
  }
}

}  // namespace ingot::runtime
