#include "frontend/gradient/op_gradients.h"

#include <fmt/format.h>

#include "base/error.h"
#include "frontend/frontend.h"
#include "frontend/interpret/frame.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/storage.h"
#include "frontend/tensor/tensors.h"

namespace ingot::frontend {
namespace {

bool has_gradient(const std::optional<Value>& gradient) { return gradient && gradient->is_tensor(); }

/// Whether some dim of `b` is missing in `a`, or is 1 in `a` but not in `b`.
bool is_smaller(Evaluation& evaluation, const Tensor& a, const Tensor& b) {
  const Shape shape = shape_of(evaluation, a), other_shape = shape_of(evaluation, b);
  if (shape.size() < other_shape.size()) return true;
  for (size_t d = 1; d <= other_shape.size(); ++d)
    if (is_one(evaluation, shape[shape.size() - d]) && !is_one(evaluation, other_shape[other_shape.size() - d]))
      return true;
  return false;
}

std::vector<Gradient> gradients_by_rules(Evaluation& evaluation, std::span<const Value> results,
                                         std::span<const std::optional<Value>> incoming,
                                         std::span<const Argument> requested) {
  std::vector<Cotangent> cotangents;
  for (size_t k = 0; k < incoming.size(); ++k)
    if (has_gradient(incoming[k])) cotangents.push_back({*results[k].tensor(), *incoming[k]->tensor()});
  return gradients(evaluation, cotangents, requested);
}

class CustomBackward {
 public:
  CustomBackward(const Definition& op, const Definition& derivative) : op_(op), derivative_(derivative) {}

  std::vector<Gradient> gradients(Evaluation& evaluation, std::span<const std::optional<Value>> arguments,
                                  std::span<const Value> results, std::span<const std::optional<Value>> incoming,
                                  std::span<const Argument> requested) const {
    const size_t param_count = incoming.size() + arguments.size();
    if (derivative_.parameters().size() != param_count)
      evaluation.fail(
          fmt::format("`{}` takes {} arguments, not {}", derivative_.name(), derivative_.parameters().size(),
                      param_count),
          fmt::format(
              "its parameters are the gradient{} with respect to the results of `{}`, then the parameters of that op",
              incoming.size() == 1 ? "" : "s", op_.name()));
    std::vector<std::optional<Value>> inputs;
    for (size_t k = 0; k < incoming.size(); ++k)
      inputs.push_back(has_gradient(incoming[k]) ? with_own_storage(evaluation, *incoming[k])
                                                 : call_library(evaluation, "zeros_like", {results[k]}));
    for (const std::optional<Value>& argument : arguments)
      inputs.push_back(argument ? std::optional(with_own_storage(evaluation, *argument)) : std::nullopt);
    Evaluation without_autocast = evaluation.without_autocast();
    const Value returned = derivative_.evaluate(without_autocast, inputs);
    const std::span<const Value> values = results_of(returned);
    if (values.size() != arguments.size())
      evaluation.fail(fmt::format("`{}` returns {} gradients, and `{}` has {} parameters", derivative_.name(),
                                  values.size(), op_.name(), arguments.size()),
                      "return one per parameter, None if there is no gradient");
    std::vector<Gradient> gradients;
    for (const Argument& argument : requested)
      gradients.push_back({*checked_gradient(evaluation, values[argument.param], argument).tensor()});
    return gradients;
  }

 private:
  /// Gives a tensor its own storage, so that in-place writes of the custom backward to its arguments have no effect
  /// outside. The custom backward may be evaluated in a Trial, which must have no side effects.
  static Value with_own_storage(Evaluation& evaluation, const Value& value) {
    if (!value.is_tensor()) return value;
    Tensor tensor = *value.tensor();
    tensor.handle = new_storage(evaluation, tensor.handle.step);
    return tensor;
  }

  Value checked_gradient(Evaluation& evaluation, const Value& gradient, const Argument& argument) const {
    const Value tensor(argument.tensor);
    const std::string& name = op_.parameters()[argument.param].name;
    if (gradient.is_none()) return call_library(evaluation, "zeros_like", {tensor});
    if (!gradient.is_tensor())
      evaluation.fail(fmt::format("`{}` returns {} for `{}`", derivative_.name(), describe(gradient), name),
                      "return a tensor, or None if there is no gradient");
    if (is_smaller(evaluation, *gradient.tensor(), argument.tensor))
      evaluation.fail(fmt::format("`{}` returns a gradient for `{}` that is smaller than it", derivative_.name(), name),
                      "return a gradient of its shape, or of a shape that it was broadcast to");
    return call_library(evaluation, "_fit_gradient", {gradient, tensor});
  }

  const Definition& op_;
  const Definition& derivative_;
};

}  // namespace

std::vector<Gradient> op_gradients(Evaluation& evaluation, const Definition& op,
                                   std::span<const std::optional<Value>> arguments, const Value& returned,
                                   std::span<const std::optional<Value>> incoming,
                                   std::span<const Argument> requested) {
  const std::span<const Value> results = results_of(returned);
  if (const std::shared_ptr<const Definition> derivative = op.derivative())
    return CustomBackward(op, *derivative).gradients(evaluation, arguments, results, incoming, requested);
  return gradients_by_rules(evaluation, results, incoming, requested);
}

void append_gradients(Evaluation& evaluation, std::vector<Gradient> gradients, std::vector<Value>& returned) {
  for (Gradient& gradient : gradients) {
    if (gradient.sum) evaluation.scattered_sums.emplace(returned.size(), *std::move(gradient.sum));
    returned.emplace_back(std::move(gradient.tensor));
  }
}

std::span<const Value> results_of(const Value& returned) {
  if (const std::vector<Value>* items = returned.items()) return *items;
  return {&returned, 1};
}

Value call_library(Evaluation& evaluation, std::string_view name, std::vector<Value> arguments) {
  const std::optional<Value> function = global_name(name, /*inside_library=*/true);
  if (!function) throw_internal(fmt::format("the library has no `{}`", name));
  return call(evaluation, *function, {std::move(arguments), {}});
}

}  // namespace ingot::frontend
