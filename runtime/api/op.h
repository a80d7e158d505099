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
  std::string name;                    ///< which def of the source is the op; empty: the last
  std::string source_name = "<text>";  ///< the file's name, for messages
  Numerics numerics = Numerics::Default;
  /// Checks gathered indices on the GPU and synchronises after each launch; checks a custom backward at its first use.
  bool debug = false;
  Lazy lazy = Lazy::Auto;
  /// Lets the gradient of a gather from a large tensor use atomic additions on a GPU. Their order is not fixed, which
  /// avoids a sort. Raises an error under torch.use_deterministic_algorithms.
  bool atomics = false;
};

/// The stages of `ingot emit`, in the order of compilation; then the values that a call saves for its gradient and
/// those that the gradient recomputes, and the source of the gradient's kernels.
enum class Stage : uint8_t { Ast, Ir, Schedule, Kernel, Source, Ptx, Backward, BackwardSource };

/// The machine for which `Op::emit` shows a stage.
struct EmitTarget {
  enum class Device : uint8_t { OfArguments, Cpu, Cuda } device = Device::OfArguments;
  int architecture = 0;  ///< CUDA: 90 for sm_90; 0 for the current device's, or 90 without one
};

/// Counts of the process so far; every count only grows. For tests and diagnosis.
struct Counters {
  uint64_t lowerings,        ///< of ops to graphs
      plans,                 ///< schedules and sources generated for kernels
      compiles,              ///< runs of a compiler
      disk_hits,             ///< programs and kernel sets read from the store
      launches,              ///< of kernels
      allocations,           ///< of results and workspaces
      loads;                 ///< of compiled binaries
  uint64_t eager_fallbacks;  ///< calls that fell back to eager PyTorch

  /// The counts since `earlier`.
  Counters since(const Counters& earlier) const;
};
Counters counters();

/// An op that can be called on tensors. Made from source text or from a C++ function on ingot::Value; cheap to copy;
/// safe from several threads. The first call for new dtypes, ranks or layouts compiles. New sizes and numbers
/// compile nothing, except in the cases that docs/language.md lists ("What recompiles").
///
/// Results: as many as the op returns, on the arguments' device, with eager PyTorch's dtypes, shapes and strides.
/// Errors: ingot::Error for the op's source, its arguments (wrong number or kind, shapes that do not broadcast, devices
/// that differ, subclasses, …) and the environment. Autograd records a call with tensors that require grad.
class Op {
 public:
  explicit Op(std::string text, OpOptions options = {});
  explicit Op(std::shared_ptr<const frontend::Definition> definition, OpOptions options = {},
              std::shared_ptr<const EagerFallback> eager_fallback = nullptr);
  template <typename F>
    requires(!std::convertible_to<F, std::string> && !std::convertible_to<F, OpOptions>)
  Op(std::string name, F function, OpOptions options = {})
      : Op(define(std::move(name), std::move(function)), std::move(options)) {}

  /// Calls the op and returns its one result; for an op with several results, use `call`.
  template <typename... Args>
    requires(sizeof...(Args) > 0)
  at::Tensor operator()(Args&&... args) const {
    const Argument list[] = {Argument(args)...};  // as lvalues: temporaries live as long as the call
    return call_one(list);
  }
  at::Tensor call_one(std::span<const Argument> arguments) const;
  std::vector<at::Tensor> call(std::span<const Argument> arguments) const;
  /// Calls the op and writes into `results` (exact shape, dtype and device).
  void call_out(std::span<const Argument> arguments, std::span<const at::Tensor> results) const;

  /// Compiles and loads the kernels for a call with these arguments; launches nothing.
  void prepare(std::span<const Argument> arguments) const;

  /// Returns the op that autograd calls for the gradients with respect to these parameters. The returned op takes this
  /// op's arguments and `grad`, the gradient with respect to the result; for several results `grad[0]`, … (`results`:
  /// their number). Its results are the gradients, in the order of `parameters`. A gradient that equals an incoming
  /// gradient element for element is that tensor itself. Errors: Error(Author) for a name that is not a parameter.
  Op gradient(std::span<const std::string> parameters, size_t results = 1) const;

  /// Returns the op that computes this op's results, followed by the gradients of its one result with respect to these
  /// parameters, in their order: one pass over memory instead of two. The result is one float. With `has_aux` it is the
  /// first of several, and the others do not contribute to the gradients. Errors: Error(Author) for a name that is not
  /// a parameter, and, from calls, if there is no gradient.
  Op value_and_grad(std::span<const std::string> parameters, bool has_aux = false) const;

  /// Compares the gradient with finite differences in float64, along random directions; meant for a custom backward.
  /// Errors: Error(Author) that names the parameter whose gradient is off by more than one part in 10⁴.
  void check_gradient(std::span<const Argument> arguments) const;

  /// Returns the text of a stage for these arguments. Their data is never read: meta tensors suffice, and CPU tensors
  /// take the place of CUDA tensors if there is no GPU. Tensors without data count as aligned.
  std::string emit(Stage stage, std::span<const Argument> arguments, EmitTarget target = {}) const;

  /// Returns all stages from the graph to the source, with the origin of each of their parts. With `of_gradient`: of
  /// the gradient with respect to the tensors that require grad, or to all floating-point tensors if none does.
  /// Arguments and errors: as for `emit`.
  Explanation explain(std::span<const Argument> arguments, bool of_gradient = false, EmitTarget target = {}) const;

  const std::string& name() const;
  std::span<const frontend::Parameter> parameters() const;
  std::string_view text() const;

  /// The state behind the handle, for the interfaces built on it (runtime/api/op_state.h).
  const OpState& state() const { return *state_; }

 private:
  explicit Op(std::shared_ptr<const OpState> state) : state_(std::move(state)) {}

  std::shared_ptr<const OpState> state_;
};

/// A call to prepare: an op and its arguments.
struct CallToPrepare {
  Op op;
  std::span<const Argument> arguments;
};

/// As Op::prepare, for many calls at once. CPU kernels are compiled in batches, some dozens per file and several files
/// at a time, which costs much less per kernel (docs/performance.md: batched-compilation). A failure does not stop the
/// other calls from being prepared.
/// Errors: the first error of Op::prepare.
void prepare(std::span<const CallToPrepare> calls);

}  // namespace ingot
