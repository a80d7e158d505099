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

class StructuredFallback : public EagerFallback {
 public:
  StructuredFallback(std::shared_ptr<const EagerFallback> fallback, std::vector<frontend::Structure> arguments)
      : fallback_(std::move(fallback)), structures_(std::move(arguments)) {}

  std::vector<at::Tensor> call(std::span<const Argument> leaves, const at::Tensor& seed) const override {
    std::list<ArgumentGroup> groups;
    std::vector<Argument> arguments;
    for (const frontend::Structure& structure : structures_) arguments.push_back(build(structure, leaves, groups));
    // The remaining leaves are the omitted trailing arguments.
    arguments.insert(arguments.end(), leaves.begin(), leaves.end());
    return fallback_->call(arguments, seed);
  }

  std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& results, const std::vector<at::Tensor>& inputs,
                                    const std::vector<at::Tensor>& incoming, bool differentiable) const override {
    return fallback_->gradients(results, inputs, incoming, differentiable);
  }

 private:
  /// Builds one argument from the first of `leaves`, and removes these from `leaves`.
  static Argument build(const frontend::Structure& structure, std::span<const Argument>& leaves,
                        std::list<ArgumentGroup>& groups) {
    if (structure.kind == frontend::Structure::Kind::Leaf) {
      const Argument leaf = leaves.front();
      leaves = leaves.subspan(1);
      return leaf;
    }
    ArgumentGroup& group = groups.emplace_back(structure.kind, std::vector<Argument>{}, structure.keys);
    for (const frontend::Structure& item : structure.items) group.items.push_back(build(item, leaves, groups));
    return Argument(std::as_const(group));
  }

  std::shared_ptr<const EagerFallback> fallback_;
  std::vector<frontend::Structure> structures_;
};

/// Sets another autocast state for the thread during its lifetime.
class AutocastGuard {
 public:
  AutocastGuard(c10::DeviceType device, std::optional<ir::DType> dtype)
      : device_(device),
        was_enabled_(at::autocast::is_autocast_enabled(device)),
        previous_dtype_(at::autocast::get_autocast_dtype(device)) {
    at::autocast::set_autocast_enabled(device, dtype.has_value());
    if (dtype) at::autocast::set_autocast_dtype(device, runtime::scalar_type(*dtype));
  }
  ~AutocastGuard() {
    at::autocast::set_autocast_enabled(device_, was_enabled_);
    at::autocast::set_autocast_dtype(device_, previous_dtype_);
  }
  AutocastGuard(const AutocastGuard&) = delete;
  AutocastGuard& operator=(const AutocastGuard&) = delete;

 private:
  c10::DeviceType device_;
  bool was_enabled_;
  c10::ScalarType previous_dtype_;
};

/// Arguments for the fallback, with copies in place of the caller's tensors. The copies keep autograd's recording
/// separate from the caller's, and prevent a second write into the caller's tensors.
class CopiedArguments {
 public:
  CopiedArguments(std::span<const Argument> arguments, const std::vector<bool>& wanted, bool differentiable)
      : arguments_(arguments.begin(), arguments.end()) {
    for (size_t i = 0; i < arguments.size(); ++i) {
      const at::Tensor* tensor = arguments[i].tensor();
      if (tensor == nullptr && wanted[i])
        runtime::throw_unsupported(
            "the eager fallback computes no gradient with respect to a list or a dict of tensors",
            "take its gradients one by one, outside a transform");
      if (tensor == nullptr) continue;
      at::Tensor& copy = copies_.emplace_back(differentiable ? tensor->clone() : tensor->detach().clone());
      if (wanted[i] && !copy.requires_grad()) copy.requires_grad_();
      if (wanted[i]) inputs_.push_back(copy);
      arguments_[i] = Argument(std::as_const(copy));
    }
  }

  std::span<const Argument> arguments() const { return arguments_; }
  /// The tensors with respect to which gradients are requested.
  const std::vector<at::Tensor>& inputs() const { return inputs_; }

  /// The gradients with respect to `inputs()`; zeros for an input without a gradient.
  std::vector<at::Tensor> gradients(const EagerFallback& fallback, const std::vector<at::Tensor>& results,
                                    const std::vector<at::Tensor>& incoming, bool differentiable) const {
    std::vector<at::Tensor> gradients(inputs_.size());
    if (!results.empty() && !inputs_.empty())
      gradients = fallback.gradients(results, inputs_, incoming, differentiable);
    for (size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].defined()) gradients[i] = at::zeros_like(inputs_[i]);
    return gradients;
  }

 private:
  std::list<at::Tensor> copies_;
  std::vector<Argument> arguments_;
  std::vector<at::Tensor> inputs_;
};

class BackwardFallback : public EagerFallback {
 public:
  BackwardFallback(std::shared_ptr<const EagerFallback> fallback, std::vector<bool> wanted,
                   std::optional<ir::DType> autocast)
      : fallback_(std::move(fallback)), wanted_(std::move(wanted)), autocast_(autocast) {}

  std::vector<at::Tensor> call(std::span<const Argument> arguments, const at::Tensor& seed) const override {
    const bool differentiable = c10::GradMode::is_enabled();
    const c10::AutoGradMode recording(true);
    const CopiedArguments copies(arguments.first(wanted_.size()), wanted_, differentiable);
    std::vector<at::Tensor> results, gradients;
    const std::vector<at::Tensor> all = run_forward(copies.arguments(), copies.inputs(), seed);
    for (size_t r = 0; r < all.size() && wanted_.size() + r < arguments.size(); ++r) {
      const at::Tensor* gradient = arguments[wanted_.size() + r].tensor();
      if (gradient == nullptr || !all[r].requires_grad()) continue;
      results.push_back(all[r]);
      gradients.push_back(*gradient);
    }
    return copies.gradients(*fallback_, results, gradients, differentiable);
  }

 private:
  std::vector<at::Tensor> run_forward(std::span<const Argument> arguments, std::span<const at::Tensor> inputs,
                                      const at::Tensor& seed) const {
    const c10::DeviceType device = inputs.empty() ? c10::DeviceType::CPU : inputs[0].device().type();
    if (!at::autocast::is_autocast_available(device)) return fallback_->call(arguments, seed);
    const AutocastGuard forward(device, autocast_);
    return fallback_->call(arguments, seed);
  }

  std::shared_ptr<const EagerFallback> fallback_;
  std::vector<bool> wanted_;  ///< one per parameter of the op
  std::optional<ir::DType> autocast_;
};

class ValueAndGradFallback : public EagerFallback {
 public:
  ValueAndGradFallback(std::shared_ptr<const EagerFallback> fallback, std::vector<bool> wanted)
      : fallback_(std::move(fallback)), wanted_(std::move(wanted)) {}

  std::vector<at::Tensor> call(std::span<const Argument> arguments, const at::Tensor& seed) const override {
    const bool differentiable = c10::GradMode::is_enabled();
    const c10::AutoGradMode recording(true);
    const CopiedArguments copies(arguments, wanted_, differentiable);
    std::vector<at::Tensor> all = fallback_->call(copies.arguments(), seed);
    std::vector<at::Tensor> value;
    if (!all.empty() && all[0].requires_grad()) value.push_back(all[0]);
    std::vector<at::Tensor> gradients = copies.gradients(*fallback_, value, {}, differentiable);
    std::ranges::move(gradients, std::back_inserter(all));
    if (!differentiable)
      for (at::Tensor& result : all) result = result.detach();
    return all;
  }

 private:
  std::shared_ptr<const EagerFallback> fallback_;
  std::vector<bool> wanted_;  ///< one per parameter of the op
};

}  // namespace

std::vector<at::Tensor> EagerFallback::gradients(const std::vector<at::Tensor>& results,
                                                 const std::vector<at::Tensor>& inputs,
                                                 const std::vector<at::Tensor>& incoming, bool differentiable) const {
  return torch::autograd::grad(results, inputs, incoming, std::nullopt, differentiable, /*allow_unused=*/true);
}

std::shared_ptr<const EagerFallback> structured(std::shared_ptr<const EagerFallback> fallback,
                                                std::vector<frontend::Structure> arguments) {
  return fallback ? std::make_shared<const StructuredFallback>(std::move(fallback), std::move(arguments)) : nullptr;
}

std::shared_ptr<const EagerFallback> backward(std::shared_ptr<const EagerFallback> fallback, std::vector<bool> wanted,
                                              std::optional<ir::DType> autocast) {
  return fallback ? std::make_shared<const BackwardFallback>(std::move(fallback), std::move(wanted), autocast)
                  : nullptr;
}

std::shared_ptr<const EagerFallback> value_and_grad(std::shared_ptr<const EagerFallback> fallback,
                                                    std::vector<bool> wanted) {
  return fallback ? std::make_shared<const ValueAndGradFallback>(std::move(fallback), std::move(wanted)) : nullptr;
}

}  // namespace ingot
