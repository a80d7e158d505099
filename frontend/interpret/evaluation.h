#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

namespace ast {
struct Function;
}

/// State that all active functions of an evaluation share.
struct CallStack {
  /// The active functions, outermost first; a recursive function occurs once per active call.
  std::vector<const ast::Function*> functions;
  /// The tensors and numbers that the op was called with. The items of a list argument are separate leaves.
  std::span<const std::optional<Value>> leaves;
  /// How deeply the active expressions and statements are nested.
  int depth = 0;
  /// Objects that values refer to during the evaluation: functions and the scopes that they close over. The objects are
  /// freed last to first, because later ones refer to earlier ones.
  std::vector<std::shared_ptr<const void>> owned_objects;

  CallStack() = default;
  ~CallStack() {
    while (!owned_objects.empty()) owned_objects.pop_back();
  }
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;
};

/// The evaluation of an op: the builder of its graph, and the call stack.
class Evaluation : public Builder {
 public:
  Evaluation(Builder builder, CallStack& stack)
      : Builder(builder), call_stack(stack), autocast(builder.signature.autocast) {}

  CallStack& call_stack;
  /// The dtype that torch.autocast was given, if autocast is on. Autocast applies to the author's code, and to library
  /// functions that PyTorch composes from other functions (interpret/autocast.h).
  std::optional<ir::DType> autocast;
  /// Whether gradients among the results of the lowered op may be scattered sums, which the runtime computes from
  /// values and positions (Builder::scattered_sums).
  bool may_scatter = false;

  void step() const { budget.spend_step(); }
  /// The same evaluation, inside a native library function.
  Evaluation inside_native() const {
    Evaluation inner = *this;
    inner.native = true;
    inner.autocast.reset();
    return inner;
  }
  Evaluation under_autocast(std::optional<ir::DType> type) const {
    Evaluation inner = *this;
    inner.autocast = type;
    return inner;
  }
  /// The same evaluation, for an op whose results are intermediate values of another op: their readers need the values
  /// themselves, not scattered sums.
  Evaluation without_scatters() const {
    Evaluation inner = *this;
    inner.may_scatter = false;
    return inner;
  }
  Evaluation without_autocast() const { return under_autocast({}); }
};

/// Changes the evaluation's source location during the guard's lifetime.
using LocationGuard = Diagnostics::LocationGuard;

}  // namespace ingot::frontend
