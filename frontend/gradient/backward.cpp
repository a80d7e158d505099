#include <fmt/format.h>

#include "frontend/frontend.h"
#include "frontend/gradient/op_gradients.h"

// The gradient of an op is an op: it is evaluated on the same arguments, and on the gradients with respect to its
// results, in the same evaluation. So it is lowered as any, and has a gradient itself.

namespace ingot::frontend {
namespace {

class BackwardDefinition : public Definition {
 public:
  BackwardDefinition(std::shared_ptr<const Definition> forward, std::vector<bool> wanted, size_t results,
                     std::optional<ir::DType> autocast, bool returns_arguments)
      : forward_(std::move(forward)),
        wanted_(std::move(wanted)),
        autocast_(autocast),
        returns_arguments_(returns_arguments),
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
    if (forward_->identity().empty()) return {};
    std::string wanted;
    for (const bool is : wanted_) wanted += is ? '1' : '0';
    const size_t results = parameters_.size() - forward_->parameters().size();
    return fmt::format("the gradient of {} results with respect to {}{}{}\n{}", results, wanted,
                       autocast_ ? fmt::format(" under autocast to {}", short_name(*autocast_)) : "",
                       returns_arguments_ ? ", some of them given" : "", forward_->identity());
  }
  std::string tree() const override { return forward_->tree(); }
  bool writes_arguments() const override { return false; }
  bool may_return_arguments() const override { return returns_arguments_; }

  Value evaluate(Evaluation& evaluation, std::span<const std::optional<Value>> arguments) const override {
    if (!evaluation.tape) evaluation.tape.emplace();
    const size_t count = forward_->parameters().size();
    const auto own = arguments.first(count), incoming = arguments.subspan(count);
    Evaluation forward = evaluation.under_autocast(autocast_);
    const Value returned = forward_->evaluate(forward, own);
    if (const size_t returns = results_of(returned).size(); returns != incoming.size())
      evaluation.fail(fmt::format("`{}` returns {} tensors, and its gradient takes {} gradients with respect to them",
                                  forward_->name(), returns, incoming.size()));
    std::vector<Argument> of;
    for (uint32_t i = 0; i < count; ++i)
      if (wanted_[i]) of.push_back({i, *own[i]->tensor()});
    return Value::tuple(op_gradients(evaluation, *forward_, own, returned, incoming, of));
  }

 private:
  std::shared_ptr<const Definition> forward_;
  std::vector<bool> wanted_;  ///< one a parameter of the forward op
  std::optional<ir::DType> autocast_;
  bool returns_arguments_;
  std::string name_;
  std::vector<Parameter> parameters_;
};

}  // namespace

std::shared_ptr<const Definition> backward(std::shared_ptr<const Definition> forward, std::vector<bool> wanted,
                                           size_t results, std::optional<ir::DType> autocast, bool returns_arguments) {
  return std::make_shared<const BackwardDefinition>(std::move(forward), std::move(wanted), results, autocast,
                                                    returns_arguments);
}

}  // namespace ingot::frontend
