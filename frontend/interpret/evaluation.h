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

/// What the functions that are being evaluated share.
struct CallStack {
  /// Those whose evaluation has begun and not ended, one that has called itself as often as it has.
  std::vector<const ast::Function*> functions;
  /// The tensors and numbers that the op was called with: those of a list among its arguments one by one.
  std::span<const std::optional<Value>> leaves;
  /// Expressions and statements that are being evaluated inside one another.
  int depth = 0;
  /// What values refer to for as long as the evaluation lives: functions, and the scopes that they close over. Freed
  /// last to first, for the later refer to the earlier.
  std::vector<std::shared_ptr<const void>> kept;

  CallStack() = default;
  ~CallStack() {
    while (!kept.empty()) kept.pop_back();
  }
  CallStack(const CallStack&) = delete;
  CallStack& operator=(const CallStack&) = delete;
};

/// The evaluation of an op: the builder of its graph, and the functions that are under way.
class Evaluation : public Builder {
 public:
  Evaluation(Builder builder, CallStack& shared)
      : Builder(builder), call_stack(shared), autocast(builder.signature.autocast) {}

  CallStack& call_stack;
  /// torch.autocast's own dtype, where it is on: in the author's text, and in a function of the library that PyTorch
  /// makes of others (interpret/autocast.h).
  std::optional<ir::DType> autocast;
  /// Whether gradients that are what the whole evaluation returns may be sums of values scattered, for the caller to
  /// take (Builder::sums).
  bool may_scatter = false;

  void step() const { budget.step(); }
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
  /// Of an op whose results are not those of the whole: what reads them wants their values.
  Evaluation without_scatters() const {
    Evaluation inner = *this;
    inner.may_scatter = false;
    return inner;
  }
  Evaluation without_autocast() const { return under_autocast({}); }
};

/// Moves the place of an evaluation for as long as it lives.
using At = Diagnostics::At;

}  // namespace ingot::frontend
