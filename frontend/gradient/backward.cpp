#include <fmt/format.h>
#include <fmt/ranges.h>

#include "frontend/frontend.h"
#include "frontend/gradient/op_gradients.h"
#include "frontend/gradient/residuals.h"
#include "frontend/tensor/refused_gradients.h"
#include "frontend/tensor/shapes.h"

// The gradient of an op is itself an op. In one evaluation, the gradient op evaluates the forward op on the same
// arguments, and then the derivative on the incoming gradients. The gradient op is therefore lowered like any other op,
// and has a gradient itself.

namespace ingot::frontend {
namespace {

class BackwardDefinition : public Definition {
 public:
  BackwardDefinition(std::shared_ptr<const Definition> forward, std::vector<bool> is_requested, size_t result_count,
                     std::optional<ir::DType> autocast, bool returns_arguments, Residuals residuals)
      : forward_(std::move(forward)),
        is_requested_(std::move(is_requested)),
        result_count_(result_count),
        autocast_(autocast),
        returns_arguments_(returns_arguments),
        residuals_(std::move(residuals)),
        name_(forward_->name() + "_backward") {
    const std::span<const Parameter> forward_parameters = forward_->parameters();
    parameters_.assign(forward_parameters.begin(), forward_parameters.end());
    for (size_t k = 0; k < result_count; ++k)
      parameters_.push_back(
          {.name = result_count == 1 ? "grad" : fmt::format("grad[{}]", k), .has_default = true, .span = {}});
    for (const std::string& name : residuals_.names) parameters_.push_back({.name = name, .span = {}});
  }

  const std::string& name() const override { return name_; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  std::string_view source_text() const override { return forward_->source_text(); }
  std::string identity() const override {
    if (forward_->identity().empty()) return {};
    std::string flags;
    for (const bool flag : is_requested_) flags += flag ? '1' : '0';
    std::string residuals;
    if (!residuals_.names.empty())
      residuals = fmt::format(", with residuals {} for gradients {:#x}", fmt::join(residuals_.names, ", "),
                              residuals_.gradients);
    return fmt::format("the gradient of {} results with respect to {}{}{}{}\n{}", result_count_, flags,
                       autocast_ ? fmt::format(" under autocast to {}", short_name(*autocast_)) : "",
                       returns_arguments_ ? ", which may be upstream gradients themselves" : "", residuals,
                       forward_->identity());
  }
  std::string tree() const override { return forward_->tree(); }
  bool writes_arguments() const override { return false; }
  bool may_return_arguments() const override { return returns_arguments_; }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    if (!evaluation.tape) evaluation.tape.emplace().values_must_match = !residuals_.names.empty();
    const size_t param_count = forward_->parameters().size();
    const auto forward_arguments = arguments.first(param_count),
               incoming = arguments.subspan(param_count, result_count_);
    Evaluation forward = evaluation.under_autocast(autocast_).without_scatters();
    forward.gradients = 0;
    for (size_t i = 0; i < param_count; ++i)
      if (is_requested_[i]) forward.gradients |= ir::gradient_bit(i);
    const Value returned = forward_->evaluate(forward, forward_arguments);
    check_and_clear_missing_gradients(forward);
    if (const size_t result_count = results_of(returned).size(); result_count != incoming.size())
      evaluation.fail(fmt::format("`{}` returns {} tensors, and its gradient takes {} gradients with respect to them",
                                  forward_->name(), result_count, incoming.size()));
    if (!residuals_.names.empty())
      use_residuals(evaluation, forward, forward_arguments, returned, arguments.subspan(param_count + result_count_));
    std::vector<Argument> requested;
    for (uint32_t i = 0; i < param_count; ++i)
      if (is_requested_[i]) requested.push_back({i, *forward_arguments[i]->tensor()});
    std::vector<Value> gradients;
    append_gradients(evaluation, op_gradients(evaluation, *forward_, forward_arguments, returned, incoming, requested),
                     gradients);
    return Value::tuple(std::move(gradients));
  }

 private:
  /// Replaces each node whose values were saved as a residual by that residual. This evaluation may find other
  /// residuals than the forward call did, because of limits such as the number of nodes. Then the gradient ignores the
  /// saved residuals and computes everything again.
  void use_residuals(Evaluation& evaluation, Evaluation& forward,
                     std::span<const std::optional<Value>> forward_arguments, const Value& returned,
                     std::span<const std::optional<Value>> residuals) const {
    const std::vector<Residual> expected =
        find_residuals(forward, *forward_, forward_arguments, returned, residuals_.gradients);
    if (!match_expected(evaluation, expected, residuals)) return;
    for (size_t k = 0; k < residuals.size(); ++k) {
      const Tensor& tensor = *residuals[k]->tensor();
      const Shape shape = shape_of(evaluation, tensor);
      const Residual& residual = expected[k];
      for (size_t dim = 0; dim < shape.size(); ++dim)
        evaluation.require(ir::Condition::Kind::Equal, shape[dim], residual.shape[dim]);
      if (residual.value)
        evaluation.residual_bindings.reduced[{residual.node, *residual.value}] =
            static_cast<uint32_t>(forward_->parameters().size() + result_count_ + k);
      else
        evaluation.residual_bindings.nodes.emplace(residual.node, tensor.blocks.front().node);
    }
  }

  bool match_expected(Evaluation& evaluation, std::span<const Residual> expected,
                      std::span<const std::optional<Value>> residuals) const {
    if (expected.size() != residuals.size()) return false;
    for (size_t k = 0; k < residuals.size(); ++k)
      if (expected[k].name != residuals_.names[k] ||
          expected[k].shape.size() != shape_of(evaluation, *residuals[k]->tensor()).size())
        return false;
    return true;
  }

  std::shared_ptr<const Definition> forward_;
  std::vector<bool> is_requested_;  ///< one per parameter of the forward op
  size_t result_count_;
  std::optional<ir::DType> autocast_;
  bool returns_arguments_;
  Residuals residuals_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> is_requested,
                                           size_t result_count, std::optional<ir::DType> autocast,
                                           bool returns_arguments, Residuals residuals) {
  return std::make_shared<const BackwardDefinition>(std::move(forward), std::move(is_requested), result_count, autocast,
                                                    returns_arguments, std::move(residuals));
}

}  // namespace ingot::frontend
