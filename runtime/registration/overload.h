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

/// An op as the dispatcher has it. Kept for ever, as its registration is.
struct Overload {
  Op op;
  c10::FunctionSchema schema;
  std::vector<bool> numbers;  ///< one a parameter: its number comes in a 0-dim CPU tensor
  /// Its gradient. What writes into its arguments has none, what returns a list, and a gradient: there it is the
  /// text's.
  std::optional<c10::OperatorHandle> backward = {};
  /// It is a gradient: behind the parameters come the incoming gradients and which leaves are asked for.
  bool is_backward = false;

  /// Of an op that draws random numbers: whether the argument behind the parameters is what it draws them from, an
  /// int64 without dims on the op's device. So a call is a function of its arguments, and its gradient draws the same.
  bool takes_seed() const;
  bool writes() const;
  bool returns_list() const;
  /// The parameters (bits) that it may write; all where lists make bits of no use.
  uint64_t writable() const;
};

/// A boxed call, borrowed, as the op takes it. Behind the parameters, and the seed, stand what `out=` takes, or what a
/// gradient takes. Errors: Error(Author) for a seed that is none.
class Unboxed {
 public:
  Unboxed(const Overload& overload, c10::ArrayRef<c10::IValue> values);
  Unboxed(const Unboxed&) = delete;  // the arguments point into it

  const OpState& op() const { return *op_; }
  std::span<const Argument> arguments() const { return arguments_; }
  std::span<const at::Tensor> outs() const { return outs_; }
  /// Undefined where the call brings none.
  const at::Tensor& seed() const { return seed_; }

 private:
  Argument argument(const c10::IValue& value, bool is_number);

  std::shared_ptr<const OpState> op_;
  std::vector<Argument> arguments_;
  std::vector<at::Tensor> outs_;
  at::Tensor seed_;
  std::list<ArgumentGroup> groups_;
};

/// Calls `visit` with each tensor among the values, also those in lists.
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

/// Replaces the arguments on the stack by what the schema returns: `results`, and what was written where it says so.
/// Errors: Error(Author) for another number of results.
void push_results(const Overload& overload, std::span<at::Tensor> results, torch::jit::Stack& stack);

}  // namespace ingot::runtime
