#include <fmt/format.h>

#include "frontend/frontend.h"
#include "frontend/gradient/differentiate.h"

// The gradient of an op is an op: it is evaluated on the same arguments, and on the gradients with respect to its
// results, in the same evaluation. So it is lowered as any, and has a gradient itself.

namespace ingot::frontend {
namespace {

class BackwardDefinition : public Definition {
 public:
  BackwardDefinition(std::shared_ptr<const Definition> forward, std::vector<bool> wanted, size_t results)
      : forward_(std::move(forward)), wanted_(std::move(wanted)), name_(forward_->name() + "_backward") {
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
    return fmt::format("the gradient of {} results with respect to {}\n{}", results, wanted, forward_->identity());
  }
  std::string tree() const override { return forward_->tree(); }
  bool writes_arguments() const override { return false; }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    if (!evaluation.tape) evaluation.tape.emplace();
    const size_t count = forward_->parameters().size();
    const Value returned = forward_->evaluate(evaluation, arguments.first(count));
    const size_t returns = returned.items() ? returned.items()->size() : 1;
    if (returns != arguments.size() - count)
      evaluation.fail(fmt::format("`{}` returns {} tensors, and its gradient takes {} gradients with respect to them",
                                  forward_->name(), returns, arguments.size() - count));
    std::vector<Cotangent> cotangents;
    for (size_t k = 0; count + k < arguments.size(); ++k) {
      const Value& value = returned.items() ? returned.items()->at(k) : returned;
      const std::optional<Value>& gradient = arguments[count + k];
      if (gradient && gradient->is_tensor()) cotangents.push_back({*value.tensor(), *gradient->tensor()});
    }
    std::vector<Argument> of;
    for (uint32_t i = 0; i < count; ++i)
      if (wanted_[i]) of.push_back({i, *arguments[i]->tensor()});
    std::vector<Value> results;
    for (Tensor& tensor : gradients(evaluation, cotangents, of)) results.emplace_back(std::move(tensor));
    return Value::tuple(std::move(results));
  }

 private:
  std::shared_ptr<const Definition> forward_;
  std::vector<bool> wanted_;  ///< one a parameter of the forward op
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> wanted,
                                           size_t results) {
  return std::make_shared<const BackwardDefinition>(std::move(forward), std::move(wanted), results);
}

}  // namespace ingot::frontend
