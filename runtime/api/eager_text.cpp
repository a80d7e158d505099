#include "runtime/api/eager_text.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <list>
#include <utility>

namespace ingot {

namespace {

class StructuredText : public EagerText {
 public:
  StructuredText(std::shared_ptr<const EagerText> text, std::vector<frontend::Structure> arguments)
      : text_(std::move(text)), structures_(std::move(arguments)) {}

  std::vector<at::Tensor> call(std::span<const Argument> leaves) const override {
    std::list<ArgumentGroup> groups;
    std::vector<Argument> arguments;
    for (const frontend::Structure& structure : structures_) arguments.push_back(take(structure, leaves, groups));
    arguments.insert(arguments.end(), leaves.begin(), leaves.end());
    return text_->call(arguments);
  }

 private:
  /// Takes its leaves from the front of `leaves`.
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

  std::shared_ptr<const EagerText> text_;
  std::vector<frontend::Structure> structures_;
};

class BackwardText : public EagerText {
 public:
  BackwardText(std::shared_ptr<const EagerText> text, std::vector<bool> wanted)
      : text_(std::move(text)), wanted_(std::move(wanted)) {}

  std::vector<at::Tensor> call(std::span<const Argument> given) const override {
    const bool differentiable = c10::GradMode::is_enabled();
    const c10::AutoGradMode recording(true);
    // Other tensors than the caller's, so that what is recorded here is heard of by nobody else.
    std::list<at::Tensor> own;
    std::vector<Argument> arguments(given.begin(), given.begin() + static_cast<ptrdiff_t>(wanted_.size()));
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < wanted_.size(); ++i) {
      const at::Tensor* tensor = arguments[i].tensor();
      if (tensor == nullptr) continue;
      at::Tensor& mine = own.emplace_back(differentiable ? tensor->view_as(*tensor) : tensor->detach());
      if (wanted_[i] && !mine.requires_grad()) mine.requires_grad_();
      if (wanted_[i]) inputs.push_back(mine);
      arguments[i] = Argument(std::as_const(mine));
    }
    std::vector<at::Tensor> results, gradients;
    const std::vector<at::Tensor> all = text_->call(arguments);
    for (size_t r = 0; r < all.size() && wanted_.size() + r < given.size(); ++r) {
      const at::Tensor* gradient = given[wanted_.size() + r].tensor();
      if (gradient == nullptr || !all[r].requires_grad()) continue;
      results.push_back(all[r]);
      gradients.push_back(*gradient);
    }
    std::vector<at::Tensor> found(inputs.size());
    if (!results.empty())
      found = torch::autograd::grad(results, inputs, gradients, std::nullopt, differentiable, /*allow_unused=*/true);
    for (size_t i = 0; i < found.size(); ++i)
      if (!found[i].defined()) found[i] = at::zeros_like(inputs[i]);
    return found;
  }

 private:
  std::shared_ptr<const EagerText> text_;
  std::vector<bool> wanted_;  ///< one a parameter of the text
};

}  // namespace

std::shared_ptr<const EagerText> structured(std::shared_ptr<const EagerText> text,
                                            std::vector<frontend::Structure> arguments) {
  return text ? std::make_shared<const StructuredText>(std::move(text), std::move(arguments)) : nullptr;
}

std::shared_ptr<const EagerText> backward(std::shared_ptr<const EagerText> text, std::vector<bool> wanted) {
  return text ? std::make_shared<const BackwardText>(std::move(text), std::move(wanted)) : nullptr;
}

}  // namespace ingot
