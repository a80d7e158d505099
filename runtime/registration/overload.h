#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <list>
#include <optional>
#include <vector>

#include "runtime/api/op.h"
#include "runtime/api/op_state.h"

namespace ingot::runtime {

/// An op as registered with the dispatcher. Never destroyed, like its registration.
struct Overload {
  Op op;
  c10::FunctionSchema schema;
  std::vector<bool> is_number;  ///< for each parameter, whether its number arrives in a 0-dim CPU tensor
  /// The op's registered gradient; none for an op that writes its arguments or returns a list, and for an op that is
  /// itself a gradient. Eager then differentiates the op's source.
  std::optional<c10::OperatorHandle> backward = {};
  /// Whether this operator is a registered gradient: the arguments after the op's own are then the incoming gradients,
  /// and a list of flags that mark the tensors whose gradients are requested.
  bool is_backward = false;

  /// Whether the argument after the parameters is the seed of an op that samples random numbers, an int64 without dims
  /// on the op's device. The call is then a function of its arguments, and its gradient samples the same numbers.
  bool takes_seed() const;
  bool writes() const;
  bool returns_list() const;
  /// The parameters (bits) that the schema allows to be written; all if the op takes lists, which bits cannot describe.
  uint64_t writable() const;
};

/// The arguments of a dispatcher call (IValues, borrowed), converted to the op's arguments. After the parameters and
/// the seed come the tensors of `out=` or, in a registered gradient, the incoming gradients and the flags. Errors:
/// Error(Author) for an invalid seed.
class DispatcherCall {
 public:
  DispatcherCall(const Overload& overload, c10::ArrayRef<c10::IValue> values);
  DispatcherCall(const DispatcherCall&) = delete;  // the arguments point into it

  const OpState& op() const { return *op_; }
  std::span<const Argument> arguments() const { return arguments_; }
  std::span<const at::Tensor> outs() const { return outs_; }
  /// Undefined if the call passes none.
  const at::Tensor& seed() const { return seed_; }

 private:
  Argument argument(const c10::IValue& value, bool is_number);

  std::shared_ptr<const OpState> op_;
  std::vector<Argument> arguments_;
  std::vector<at::Tensor> outs_;
  at::Tensor seed_;
  std::list<ArgumentGroup> groups_;
};

/// Calls `visit` with each tensor among the values, including those in lists.
template <typename Visit>
void for_each_tensor(c10::ArrayRef<c10::IValue> values, Visit visit) {
  for (const c10::IValue& value : values) {
    if (value.isTensor()) {
      if (value.toTensor().defined()) visit(value.toTensor());
    } else if (value.isList()) {
      for_each_tensor(value.toListRef(), visit);
    }
  }
}

/// Replaces the arguments on the stack by the schema's results: `results`, and the written arguments if the schema
/// returns them. Errors: Error(Author) for a wrong number of results.
void push_results(const Overload& overload, std::span<at::Tensor> results, torch::jit::Stack& stack);

}  // namespace ingot::runtime
