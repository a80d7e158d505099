#pragma once

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <mutex>
#include <variant>
#include <vector>

#include "runtime/registration/overload.h"

namespace ingot::runtime {

/// The autograd node of a call through the dispatcher. The node calls the registered gradient, so that a trace of the
/// backward pass contains that operator.
class OverloadBackward : public torch::autograd::Node {
 public:
  /// `values`: the arguments in the schema's order.
  OverloadBackward(const Overload& overload, c10::ArrayRef<c10::IValue> values);

  /// Makes this node the grad_fn of the floating-point results.
  void record(c10::ArrayRef<c10::IValue> results);

  std::string name() const override { return overload_.op.name() + "Backward"; }
  void release_variables() override;
  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override;

 private:
  static constexpr int kNone = -1;
  using SavedVariable = torch::autograd::SavedVariable;

  /// A saved argument: its value, or autograd's SavedVariable for its tensors.
  using SavedArgument = std::variant<c10::IValue, SavedVariable, std::vector<SavedVariable>>;

  const Overload& overload_;
  std::vector<SavedArgument> arguments_;
  std::vector<int> edge_of_;      ///< for each leaf of the arguments, the index of its edge, or kNone
  std::vector<int> gradient_of_;  ///< for each result, the input of this node that is its gradient, or kNone
};

}  // namespace ingot::runtime
