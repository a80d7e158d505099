#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/target/target.h"
#include "frontend/cpp_api.h"
#include "runtime/api/argument.h"
#include "runtime/api/explanation.h"

namespace ingot {

class EagerFallback;
class OpState;

using codegen::Lazy;
using frontend::Numerics;

struct OpOptions {
  std::string name;                    ///< which def of the text is the op; empty: the last
  std::string source_name = "<text>";  ///< for messages: the file's name
  Numerics numerics = Numerics::Default;
  /// Checks gathered indices on the GPU and synchronises after each launch; checks a gradient that was written by hand
  /// when it is first used.
  bool debug = false;
  Lazy lazy = Lazy::Auto;
  /// On a GPU the gradient of a gather from a large tensor adds up as threads come, in no order, which spares a sort.
  /// Refused under torch.use_deterministic_algorithms.
  bool atomics = false;
};

/// The stages of `ingot emit`, in the order of the data; what is kept of a call for its gradient, and the source of the
/// kernels that take it up.
enum class Stage : uint8_t { Ast, Ir, Schedule, Kernel, Source, Ptx, Backward, BackwardSource };

/// For which machine `Op::emit` shows a stage.
struct EmitTarget {
  enum class Device : uint8_t { OfArguments, Cpu, Cuda } device = Device::OfArguments;
  int architecture = 0;  ///< CUDA: 90 for sm_90; 0 for the current device's, or 90 without one
};

/// What the process has done so far; every count only grows. For tests and for the curious.
struct Counters {
  uint64_t lowerings, plans, compiles, disk_hits, launches, allocations, loads;
  uint64_t eager_fallbacks;  ///< calls that fell back to eager PyTorch

  /// What happened after `earlier`.
  Counters since(const Counters& earlier) const;
};
Counters counters();

/// An op that can be called on tensors. Made from text or from a C++ function on ingot::Value; cheap to copy; safe from
/// several threads. The first call for new dtypes, ranks or layouts compiles; new scalars compile nothing, and new
/// sizes only where rows of another range of lengths are reduced.
///
/// Results: as many as the op returns, on the arguments' device, with eager PyTorch's dtypes, shapes and strides.
/// Errors: ingot::Error for the op's text, its arguments (wrong number or kind, shapes that do not broadcast, devices
/// that differ, subclasses, …) and the environment. A call with tensors that require grad is recorded by autograd.
class Op {
 public:
  explicit Op(std::string text, OpOptions options = {});
  explicit Op(std::shared_ptr<const frontend::Definition> definition, OpOptions options = {},
              std::shared_ptr<const EagerFallback> eager_fallback = nullptr);
  template <typename F>
    requires(!std::convertible_to<F, std::string> && !std::convertible_to<F, OpOptions>)
  Op(std::string name, F function, OpOptions options = {})
      : Op(define(std::move(name), std::move(function)), std::move(options)) {}

  /// The one result; an op that returns several has `call`.
  template <typename... Args>
    requires(sizeof...(Args) > 0)
  at::Tensor operator()(Args&&... args) const {
    const Argument list[] = {Argument(args)...};  // as lvalues: temporaries live as long as the call
    return call_one(list);
  }
  at::Tensor call_one(std::span<const Argument> arguments) const;
  std::vector<at::Tensor> call(std::span<const Argument> arguments) const;
  /// Writes into `results` (exact shape, dtype and device).
  void call_out(std::span<const Argument> arguments, std::span<const at::Tensor> results) const;

  /// Compiles and loads what a call with these arguments would need, and launches nothing.
  void prepare(std::span<const Argument> arguments) const;

  /// The op that autograd calls for the gradients with respect to these parameters, which it gives in their order. It
  /// takes this op's arguments and `grad`, the gradient with respect to the result; of several results `grad[0]`, …
  /// What is such a gradient, element for element, is that tensor itself.
  /// Errors: Error(Author) for a name that is none of the parameters.
  Op gradient(std::span<const std::string> parameters, size_t results = 1) const;

  /// The op that gives what this one returns and, behind it, the gradients of its one result with respect to these
  /// parameters, in their order: one pass over memory instead of two. The result is one float; with `has_aux` it is the
  /// first of several, and the others have no part in the gradients.
  /// Errors: Error(Author) for a name that is none of the parameters, and of the calls for what has no gradient.
  Op value_and_grad(std::span<const std::string> parameters, bool has_aux = false) const;

  /// Compares the gradient with differences in float64, along random directions; meant for gradients that were written
  /// by hand. Errors: Error(Author) that names the parameter whose gradient is off by more than a part in 10⁴.
  void check_gradient(std::span<const Argument> arguments) const;

  /// The text of a stage for these arguments, whose data is never read: meta tensors will do, and CPU tensors stand in
  /// for CUDA ones where there is no GPU. Absent pointers count as aligned.
  std::string emit(Stage stage, std::span<const Argument> arguments, EmitTarget target = {}) const;

  /// All stages from the graph to the source, and what each part of them came from; of the gradient with respect to
  /// all parameters that have one, if that is asked for. Arguments and errors: as for `emit`.
  Explanation explain(std::span<const Argument> arguments, bool of_gradient = false, EmitTarget target = {}) const;

  const std::string& name() const;
  std::span<const frontend::Parameter> parameters() const;
  std::string_view text() const;

  /// What is behind the handle, for the doors that are built on it (runtime/api/op_state.h).
  const OpState& state() const { return *state_; }

 private:
  explicit Op(std::shared_ptr<const OpState> state) : state_(std::move(state)) {}

  std::shared_ptr<const OpState> state_;
};

/// A call to come.
struct PlannedCall {
  Op op;
  std::span<const Argument> arguments;
};

/// As Op::prepare, of many calls at once. Kernels of the CPU are compiled some dozens to a file and several files at a
/// time: each costs a tenth of what it would alone. All that can be prepared is, whatever fails.
/// Errors: those of Op::prepare, the first.
void prepare(std::span<const PlannedCall> calls);

}  // namespace ingot
