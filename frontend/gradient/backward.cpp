#include <fmt/format.h>

#include "base/error.h"
#include "frontend/frontend.h"
#include "frontend/gradient/differentiate.h"
#include "frontend/interpret/interpreting.h"
#include "frontend/tensor/shapes.h"
#include "frontend/tensor/tensors.h"

// The gradient of an op is an op: it is evaluated on the same arguments, and on the gradients with respect to its
// results, in the same evaluation. So it is lowered as any, and has a gradient itself.

namespace ingot::frontend {
namespace {

class BackwardDefinition : public Definition {
 public:
  BackwardDefinition(std::shared_ptr<const Definition> forward, std::vector<bool> wanted, size_t results,
                     std::optional<ir::DType> autocast)
      : forward_(std::move(forward)),
        wanted_(std::move(wanted)),
        autocast_(autocast),
        name_(forward_->name() + "_backward") {
    const std::span<const Parameter> own = forward_->parameters();
    parameters_.assign(own.begin(), own.end());
    for (size_t k = 0; k < results; ++k)
      parameters_.push_back(
          {.name = results == 1 ? "grad" : fmt::format("grad[{}]", k), .has_default = true, .span = {}});
  }

  const std::string& name() const override { return name_; }
  std::span<const Parameter> parameters() const override { return parameters_; }
  std::string_view text() const override { return forward_->text(); }
  std::string identity() const override {
    std::string wanted;
    for (const bool is : wanted_) wanted += is ? '1' : '0';
    const size_t results = parameters_.size() - forward_->parameters().size();
    return fmt::format("the gradient of {} results with respect to {}{}\n{}", results, wanted,
                       autocast_ ? fmt::format(" under autocast to {}", short_name(*autocast_)) : "",
                       forward_->identity());
  }
  std::string tree() const override { return forward_->tree(); }
  bool writes_arguments() const override { return false; }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    if (!evaluation.tape) evaluation.tape.emplace();
    const size_t count = forward_->parameters().size();
    Evaluation forward = evaluation.under_autocast(autocast_);
    const Value returned = forward_->evaluate(forward, arguments.first(count));
    const size_t returns = returned.items() ? returned.items()->size() : 1;
    if (returns != arguments.size() - count)
      evaluation.fail(fmt::format("`{}` returns {} tensors, and its gradient takes {} gradients with respect to them",
                                  forward_->name(), returns, arguments.size() - count));
    std::vector<Argument> of;
    for (uint32_t i = 0; i < count; ++i)
      if (wanted_[i]) of.push_back({i, *arguments[i]->tensor()});
    const std::shared_ptr<const Definition> by_hand = forward_->derivative();
    return by_hand ? gradients_by_hand(evaluation, *by_hand, returned, arguments, of)
                   : gradients_by_rules(evaluation, returned, arguments.subspan(count), of);
  }

 private:
  static const Value& result_of(const Value& returned, size_t number) {
    return returned.items() ? returned.items()->at(number) : returned;
  }

  static Value gradients_by_rules(Evaluation& evaluation, const Value& returned,
                                  std::span<const std::optional<Value>> incoming, std::span<const Argument> of) {
    std::vector<Cotangent> cotangents;
    for (size_t k = 0; k < incoming.size(); ++k)
      if (incoming[k] && incoming[k]->is_tensor())
        cotangents.push_back({*result_of(returned, k).tensor(), *incoming[k]->tensor()});
    std::vector<Value> results;
    for (Tensor& tensor : gradients(evaluation, cotangents, of)) results.emplace_back(std::move(tensor));
    return Value::tuple(std::move(results));
  }

  Value gradients_by_hand(Evaluation& evaluation, const Definition& by_hand, const Value& returned,
                          std::span<const std::optional<Value>> arguments, std::span<const Argument> of) const {
    const size_t count = forward_->parameters().size(), incoming = arguments.size() - count;
    if (by_hand.parameters().size() != arguments.size())
      evaluation.fail(
          fmt::format("`{}` takes {} arguments, not {}", by_hand.name(), by_hand.parameters().size(), arguments.size()),
          fmt::format("it takes the gradient{} with respect to what `{}` returns, then what that takes",
                      incoming == 1 ? "" : "s", forward_->name()));
    std::vector<std::optional<Value>> given;
    for (size_t k = 0; k < incoming; ++k) {
      const std::optional<Value>& gradient = arguments[count + k];
      given.push_back(gradient && gradient->is_tensor()
                          ? *gradient
                          : call_library(evaluation, "zeros_like", {result_of(returned, k)}));
    }
    given.insert(given.end(), arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(count));
    Evaluation plain = evaluation.without_autocast();
    const Value found = by_hand.evaluate(plain, given);
    const size_t values = found.items() ? found.items()->size() : 1;
    if (values != count)
      evaluation.fail(fmt::format("`{}` returns {} gradients, and `{}` has {} parameters", by_hand.name(), values,
                                  forward_->name(), count),
                      "return one a parameter, None where there is none");
    std::vector<Value> results;
    for (const Argument& argument : of) {
      const Value& gradient = result_of(found, argument.param);
      const Value tensor(argument.tensor);
      if (!gradient.is_none() && !gradient.is_tensor())
        evaluation.fail(fmt::format("`{}` returns {} for `{}`", by_hand.name(), describe(gradient),
                                    forward_->parameters()[argument.param].name),
                        "return a tensor, or None where there is no gradient");
      if (gradient.is_tensor() && spans_less(evaluation, *gradient.tensor(), argument.tensor))
        evaluation.fail(fmt::format("`{}` returns a gradient for `{}` that is smaller than it", by_hand.name(),
                                    forward_->parameters()[argument.param].name),
                        "return one of its shape, or of one that it was broadcast to");
      results.push_back(gradient.is_none() ? call_library(evaluation, "zeros_like", {tensor})
                                           : call_library(evaluation, "_gradient_by_hand", {gradient, tensor}));
    }
    return Value::tuple(std::move(results));
  }

  /// Whether some dim of b is missing in a, or 1 there alone.
  static bool spans_less(Evaluation& evaluation, const Tensor& a, const Tensor& b) {
    const Shape own = shape_of(evaluation, a), other = shape_of(evaluation, b);
    if (own.size() < other.size()) return true;
    for (size_t d = 1; d <= other.size(); ++d)
      if (is_one(evaluation, own[own.size() - d]) && !is_one(evaluation, other[other.size() - d])) return true;
    return false;
  }

  static Value call_library(Evaluation& evaluation, std::string_view name, std::vector<Value> arguments) {
    const std::optional<Value> function = global_name(name, /*inside_library=*/true);
    if (!function) throw_internal(fmt::format("the library has no `{}`", name));
    return call(evaluation, *function, {std::move(arguments), {}});
  }

  std::shared_ptr<const Definition> forward_;
  std::vector<bool> wanted_;  ///< one a parameter of the forward op
  std::optional<ir::DType> autocast_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> wanted,
                                           size_t results, std::optional<ir::DType> autocast) {
  return std::make_shared<const BackwardDefinition>(std::move(forward), std::move(wanted), results, autocast);
}

}  // namespace ingot::frontend
