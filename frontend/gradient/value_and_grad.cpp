#include <fmt/format.h>

#include "frontend/frontend.h"
#include "frontend/gradient/op_gradients.h"
#include "frontend/tensor/refused_gradients.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/storage.h"

// A loss and its gradient as one op: both are evaluated on the same arguments, so the lowered graph reads the arguments
// once.

namespace ingot::frontend {
namespace {

class ValueAndGrad : public Definition {
 public:
  ValueAndGrad(std::shared_ptr<const Definition> op, std::vector<bool> is_requested, bool has_aux)
      : op_(std::move(op)),
        is_requested_(std::move(is_requested)),
        has_aux_(has_aux),
        name_(op_->name() + "_value_and_grad") {}

  const std::string& name() const override { return name_; }
  std::span<const Parameter> parameters() const override { return op_->parameters(); }
  std::string_view source_text() const override { return op_->source_text(); }
  std::string identity() const override {
    if (op_->identity().empty()) return {};
    std::string flags;
    for (const bool flag : is_requested_) flags += flag ? '1' : '0';
    return fmt::format("the value{} and the gradient with respect to {}\n{}", has_aux_ ? ", the auxiliary results" : "",
                       flags, op_->identity());
  }
  std::string tree() const override { return op_->tree(); }
  bool writes_arguments() const override { return op_->writes_arguments(); }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    // The loss is a result, too, so its bits must be those that it has without a gradient.
    if (!evaluation.tape) evaluation.tape.emplace().values_must_match = true;
    const std::vector<Argument> requested = requested_arguments(evaluation, arguments);
    Evaluation inside = evaluation.without_scatters();
    inside.gradients = 0;
    for (const Argument& argument : requested) inside.gradients |= ir::gradient_bit(argument.param);
    const Value returned = op_->evaluate(inside, arguments);
    check_and_clear_missing_gradients(inside);  // fails for gradients that PyTorch does not have
    for (const Argument& argument : requested) check_not_written(evaluation, argument);
    const std::span<const Value> results = results_of(returned);
    check_value(evaluation, returned);
    std::vector<std::optional<Value>> incoming(results.size());
    Evaluation without_autocast = evaluation.without_autocast();
    incoming[0] = call_library(without_autocast, "ones_like", {results[0]});
    std::vector<Value> returned_values(results.begin(), results.end());
    append_gradients(evaluation, op_gradients(without_autocast, *op_, arguments, returned, incoming, requested),
                     returned_values);
    return Value::tuple(std::move(returned_values));
  }

 private:
  /// The tensors with respect to which gradients are requested; for a list or a dict, all its tensors.
  std::vector<Argument> requested_arguments(Evaluation& evaluation,
                                            std::span<const std::optional<Value>> arguments) const {
    std::vector<Argument> requested;
    for (uint32_t i = 0; i < arguments.size(); ++i)
      if (is_requested_[i]) add_tensors(evaluation, i, arguments[i].value_or(None{}), requested);
    return requested;
  }

  void add_tensors(Evaluation& evaluation, uint32_t argument, const Value& value,
                   std::vector<Argument>& requested) const {
    if (const std::vector<Value>* items = value.is<Dict>() ? value.as<Dict>().values.get() : value.items()) {
      for (const Value& item : *items) add_tensors(evaluation, argument, item, requested);
      return;
    }
    const Tensor* tensor = value.is_tensor() ? value.tensor() : nullptr;
    const ir::NodeId node = tensor ? tensor->blocks.front().node : ir::NodeId{};
    if (!tensor || ir::category(tensor->dtype) != ir::Category::Floating || evaluation.graph[node].op != ir::Op::Load)
      evaluation.fail(fmt::format("`{}` is {}, and has no gradient", op_->parameters()[argument].name, describe(value)),
                      "only floating-point tensors on the op's device have gradients: select them with argnums");
    requested.push_back({evaluation.graph.access(node).source.index, *tensor});
  }

  /// Fails if an argument whose gradient is requested was written in place, as autograd does.
  void check_not_written(Evaluation& evaluation, const Argument& argument) const {
    const TensorHandle& handle = argument.tensor.handle;
    if (!handle.storage || handle.storage->version == handle.version) return;
    evaluation.fail(fmt::format("`{}` writes into `{}`, but a gradient with respect to it is requested", op_->name(),
                                evaluation.graph.params[argument.param].name),
                    "write into a copy of it: x = x.clone()");
  }

  void check_value(Evaluation& evaluation, const Value& returned) const {
    const std::span<const Value> results = results_of(returned);
    if (has_aux_ != (returned.items() != nullptr))
      evaluation.fail(fmt::format("`{}` returns {}", op_->name(), describe(returned)),
                      has_aux_ ? "with has_aux=True return a tuple: the value, then the auxiliary results"
                               : "to return more than the value, pass has_aux=True");
    const bool is_tensor = !results.empty() && results[0].is_tensor();
    if (!is_tensor || ir::category(results[0].tensor()->dtype) != ir::Category::Floating)
      evaluation.fail(
          fmt::format("the value of `{}` is {}", op_->name(), results.empty() ? "nothing" : describe(results[0])),
          "return a floating-point tensor with one element");
    if (results[0].tensor()->rank() != 0)
      evaluation.fail(fmt::format("the value of `{}` is a tensor of {} dims", op_->name(), results[0].tensor()->rank()),
                      "reduce it to one number, for example with sum() or mean()");
  }

  std::shared_ptr<const Definition> op_;
  std::vector<bool> is_requested_;  ///< one per parameter
  bool has_aux_;
  std::string name_;
};

}  // namespace

std::shared_ptr<const Definition> value_and_grad(std::shared_ptr<const Definition> op, std::vector<bool> is_requested,
                                                 bool has_aux) {
  return std::make_shared<const ValueAndGrad>(std::move(op), std::move(is_requested), has_aux);
}

}  // namespace ingot::frontend
