#include "runtime/api/eager_fallback.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <utility>

#include "runtime/call/dtypes.h"
#include "runtime/call/refusals.h"

namespace ingot {

namespace {

class StructuredText : public EagerFallback {
 public:
  StructuredText(std::shared_ptr<const EagerFallback> text, std::vector<frontend::Structure> arguments)
      : text_(std::move(text)), structures_(std::move(arguments)) {}

  std::vector<at::Tensor> call(std::span<const Argument> leaves, const at::Tensor& seed) const override {
    std::list<ArgumentGroup> groups;
    std::vector<Argument> arguments;
    for (const frontend::Structure& structure : structures_) arguments.push_back(take(structure, leaves, groups));
    arguments.insert(arguments.end(), leaves.begin(), leaves.end());
    return text_->call(arguments, seed);
  }

  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& results, const std::vector<at::Tensor>& inputs,
                                    const std::vector<at::Tensor>& incoming, bool differentiable) const override {
    return text_->gradients(results, inputs, incoming, differentiable);
  }

 private:
  /// Builds one argument; takes its leaves from the front of `leaves`.
  static Argument take(const frontend::Structure& structure, std::span<const Argument>& leaves,
                       std::list<ArgumentGroup>& groups) {
    if (structure.kind == frontend::Structure::Kind::Leaf) {
      const Argument leaf = leaves.front();
      leaves = leaves.subspan(1);
      return leaf;
    }
    ArgumentGroup& group = groups.emplace_back(structure.kind, std::vector<Argument>{}, structure.keys);
    for (const frontend::Structure& item : structure.items) group.items.push_back(take(item, leaves, groups));
    return Argument(std::as_const(group));
  }

  std::shared_ptr<const EagerFallback> text_;
  std::vector<frontend::Structure> structures_;
};

/// Sets another autocast state for the thread during its lifetime.
class Autocast {
 public:
  Autocast(c10::DeviceType device, std::optional<ir::DType> dtype)
      : device_(device),
        was_on_(at::autocast::is_autocast_enabled(device)),
        was_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, dtype.has_value());
    if (dtype) at::autocast::set_autocast_dtype(device, runtime::scalar_type(*dtype));
  }
  ~Autocast() {
    at::autocast::set_autocast_enabled(device_, was_on_);
    at::autocast::set_autocast_dtype(device_, was_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  c10::DeviceType device_;
  bool was_on_;
  c10::ScalarType was_;
};

/// Arguments for the fallback, with copies in place of the caller's tensors. The copies keep autograd's recording
/// separate from the caller's, and prevent a second write into the caller's tensors.
class OwnArguments {
 public:
  OwnArguments(std::span<const Argument> given, const std::vector<bool>& wanted, bool differentiable)
      : arguments_(given.begin(), given.end()) {
    for (size_t i = 0; i < given.size(); ++i) {
      const at::Tensor* tensor = given[i].tensor();
      if (tensor == nullptr && wanted[i])
        runtime::throw_unsupported(
            "the eager fallback computes no gradient with respect to a list or a dict of tensors",
            "take its gradients one by one, outside a transform");
      if (tensor == nullptr) continue;
      at::Tensor& mine = own_.emplace_back(differentiable ? tensor->clone() : tensor->detach().clone());
      if (wanted[i] && !mine.requires_grad()) mine.requires_grad_();
      if (wanted[i]) inputs_.push_back(mine);
      arguments_[i] = Argument(std::as_const(mine));
    }
  }

  std::span<const Argument> arguments() const { return arguments_; }
  /// The tensors with respect to which gradients are requested.
  const std::vector<at::Tensor>& inputs() const { return inputs_; }

  /// The gradients with respect to these inputs; 0 if an input has none.
  std::vector<at::Tensor> gradients(const EagerFallback& text, const std::vector<at::Tensor>& results,
                                    const std::vector<at::Tensor>& incoming, bool differentiable) const {
    std::vector<at::Tensor> found(inputs_.size());
    if (!results.empty() && !inputs_.empty()) found = text.gradients(results, inputs_, incoming, differentiable);
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined()) found[i] = at::zeros_like(inputs_[i]);
    return match;
  }

 private:
  std::list<at::Tensor> own_;
  std::vector<Argument> arguments_;
  std::vector<at::Tensor> inputs_;
};

class BackwardText : public EagerFallback {
 public:
  BackwardText(std::shared_ptr<const EagerFallback> text, std::vector<bool> wanted, std::optional<ir::DType> autocast)
      : text_(std::move(text)), wanted_(std::move(wanted)), autocast_(autocast) {}

  std::vector<at::Tensor> call(std::span<const Argument> given, const at::Tensor& seed) const override {
    const bool differentiable = c10::GradMode::is_enabled();
    const c10::AutoGradMode recording(true);
    const OwnArguments own(given.first(wanted_.size()), wanted_, differentiable);
    std::vector<at::Tensor> results, gradients;
    const std::vector<at::Tensor> all = run(own.arguments(), own.inputs(), seed);
    for (size_t r = 0; r < all.size() && wanted_.size() + r < given.size(); ++r) {
      const at::Tensor* gradient = given[wanted_.size() + r].tensor();
      if (gradient == nullptr || !all[r].requires_grad()) continue;
      results.push_back(all[r]);
      gradients.push_back(*gradient);
    }
    return own.gradients(*text_, results, gradients, differentiable);
  }

 private:
  std::vector<at::Tensor> run(std::span<const Argument> arguments, std::span<const at::Tensor> inputs,
                              const at::Tensor& seed) const {
    const c10::DeviceType device = inputs.empty() ? c10::DeviceType::CPU : inputs[0].device().type();
    if (!at::autocast::is_autocast_available(device)) return text_->call(arguments, seed);
    const Autocast forward(device, autocast_);
    return text_->call(arguments, seed);
  }

  std::shared_ptr<const EagerFallback> text_;
  std::vector<bool> wanted_;  ///< one per parameter of the op
  std::optional<ir::DType> autocast_;
};

class ValueAndGradText : public EagerFallback {
 public:
  ValueAndGradText(std::shared_ptr<const EagerFallback> text, std::vector<bool> wanted)
      : text_(std::move(text)), wanted_(std::move(wanted)) {}

  std::vector<at::Tensor> call(std::span<const Argument> given, const at::Tensor& seed) const override {
    const bool differentiable = c10::GradMode::is_enabled();
    const c10::AutoGradMode recording(true);
    const OwnArguments own(given, wanted_, differentiable);
    std::vector<at::Tensor> all = text_->call(own.arguments(), seed);
    std::vector<at::Tensor> value;
    if (!all.empty() && all[0].requires_grad()) value.push_back(all[0]);
    std::vector<at::Tensor> found = own.gradients(*text_, value, {}, differentiable);
    std::ranges::move(found, std::back_inserter(all));
    if (!differentiable)
      for (at::Tensor& result : all) result = result.detach();
    return all;
  }

 private:
  std::shared_ptr<const EagerFallback> text_;
  std::vector<bool> wanted_;  ///< one per parameter of the op
};

}  // namespace

std::vector<at::Tensor> EagerFallback::gradients(const std::vector<at::Tensor>& results,
                                                 const std::vector<at::Tensor>& inputs,
                                                 const std::vector<at::Tensor>& incoming, bool differentiable) const {
  return torch::autograd::grad(results, inputs, incoming, std::nullopt, differentiable, /*allow_unused=*/true);
}

std::shared_ptr<const EagerFallback> structured(std::shared_ptr<const EagerFallback> text,
                                                std::vector<frontend::Structure> arguments) {
  return text ? std::make_shared<const StructuredText>(std::move(text), std::move(arguments)) : nullptr;
}

std::shared_ptr<const EagerFallback> backward(std::shared_ptr<const EagerFallback> text, std::vector<bool> wanted,
                                              std::optional<ir::DType> autocast) {
  return text ? std::make_shared<const BackwardText>(std::move(text), std::move(wanted), autocast) : nullptr;
}

std::shared_ptr<const EagerFallback> value_and_grad(std::shared_ptr<const EagerFallback> text,
                                                    std::vector<bool> wanted) {
  return text ? std::make_shared<const ValueAndGradText>(std::move(text), std::move(wanted)) : nullptr;
}

}  // namespace ingot
