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
  BackwardDefinition(std::shared_ptr<const Definition> forward, std::vector<bool> wanted, size_t results,
                     std::optional<ir::DType> autocast, bool returns_arguments, Residuals residuals)
      : forward_(std::move(forward)),
        wanted_(std::move(wanted)),
        results_(results),
        autocast_(autocast),
        returns_arguments_(returns_arguments),
        residuals_(std::move(residuals)),
        name_(forward_->name() + "_backward") {
    const std::span<const Parameter> own = forward_->parameters();
    parameters_.assign(own.begin(), own.end());
    for (size_t k = 0; k < results; ++k)
      parameters_.push_back(
          {.name = results == 1 ? "grad" : fmt::format("grad[{}]", k), .has_default = true, .span = {}});
    for (const std::string& name : residuals_.names) parameters_.push_back({.name = name, .span = {}});
  }

  const std::string& name() const override { return name_; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  std::string_view text() const override { return forward_->text(); }
  std::string identity() const override {
    if (forward_->identity().empty()) return {};
    std::string wanted;
    for (const bool is : wanted_) wanted += is ? '1' : '0';
    std::string residuals;
    if (!residuals_.names.empty())
      residuals = fmt::format(", with {} kept for {:#x}", fmt::join(residuals_.names, ", "), residuals_.gradients);
    return fmt::format("the gradient of {} results with respect to {}{}{}{}\n{}", results_, wanted,
                       autocast_ ? fmt::format(" under autocast to {}", short_name(*autocast_)) : "",
                       returns_arguments_ ? ", some of them given" : "", residuals, forward_->identity());
  }
  std::string tree() const override { return forward_->tree(); }
  bool writes_arguments() const override { return false; }
  bool may_return_arguments() const override { return returns_arguments_; }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    if (!evaluation.tape) evaluation.tape.emplace().has_results = !residuals_.names.empty();
    const size_t count = forward_->parameters().size();
    const auto own = arguments.first(count), incoming = arguments.subspan(count, results_);
    Evaluation forward = evaluation.under_autocast(autocast_).without_scatters();
    forward.gradients = 0;
    for (size_t i = 0; i < count; ++i)
      if (wanted_[i]) forward.gradients |= uint64_t{1} << std::min<size_t>(i, 63);
    const Value returned = forward_->evaluate(forward, own);
    check_and_clear_refused_gradients(forward);
    if (const size_t returns = results_of(returned).size(); returns != incoming.size())
      evaluation.fail(fmt::format("`{}` returns {} tensors, and its gradient takes {} gradients with respect to them",
                                  forward_->name(), returns, incoming.size()));
    if (!residuals_.names.empty()) use_saved(evaluation, forward, own, returned, arguments.subspan(count + results_));
    std::vector<Argument> of;
    for (uint32_t i = 0; i < count; ++i)
      if (wanted_[i]) of.push_back({i, *own[i]->tensor()});
    std::vector<Value> found;
    add_gradients(evaluation, op_gradients(evaluation, *forward_, own, returned, incoming, of), found);
    return Value::tuple(std::move(found));
  }

 private:
  /// Replaces each node for which a residual was saved by the residual. Because of limits, this evaluation may find
  /// other row statistics than the forward call did. Then the gradient ignores the residuals and recomputes everything.
  void use_saved(Evaluation& evaluation, Evaluation& forward, std::span<const std::optional<Value>> own,
                 const Value& returned, std::span<const std::optional<Value>> residuals) const {
    const std::vector<Residual> expected = find_residuals(forward, *forward_, own, returned, residuals_.gradients);
    if (!are_as_expected(evaluation, expected, residuals)) return;
    for (size_t k = 0; k < residuals.size(); ++k) {
      const Tensor& tensor = *residuals[k]->tensor();
      const Shape shape = shape_of(evaluation, tensor);
      const Residual& one = expected[k];
      for (size_t dim = 0; dim < shape.size(); ++dim)
        evaluation.require(ir::Condition::Kind::Equal, shape[dim], one.shape[dim]);
      if (one.value)
        evaluation.residual_bindings.reduced[{one.node, *one.value}] =
            static_cast<uint32_t>(forward_->parameters().size() + results_ + k);
      else
        evaluation.residual_bindings.nodes.emplace(one.node, tensor.blocks.front().node);
    }
  }

  bool are_as_expected(Evaluation& evaluation, std::span<const Residual> expected,
                       std::span<const std::optional<Value>> residuals) const {
    if (expected.size() != residuals.size()) return false;
    for (size_t k = 0; k < residuals.size(); ++k)
      if (expected[k].name != residuals_.names[k] ||
          expected[k].shape.size() != shape_of(evaluation, *residuals[k]->tensor()).size())
        return false;
    return true;
  }

  std::shared_ptr<const Definition> forward_;
  std::vector<bool> wanted_;  ///< one per parameter of the forward op
  size_t results_;
  std::optional<ir::DType> autocast_;
  bool returns_arguments_;
  Residuals residuals_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> wanted,
                                           size_t results, std::optional<ir::DType> autocast, bool returns_arguments,
                                           Residuals residuals) {
  return std::make_shared<const BackwardDefinition>(std::move(forward), std::move(wanted), results, autocast,
                                                    returns_arguments, std::move(residuals));
}

}  // namespace ingot::frontend
