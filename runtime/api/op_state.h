#pragma once

#include <c10/util/SmallVector.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/api/eager_fallback.h"
#include "runtime/api/op.h"
#include "runtime/api/runtime.h"
#include "runtime/api/sharding.h"
#include "runtime/cache/table.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/call_key.h"
#include "runtime/records/program_cache.h"

// What stands behind an Op. A call goes through at most three levels, each slower by a thousand times and asked only
// where the one before it does not know the answer:
//
//   facts of the arguments → BoundCall     a lock-free table: hash some words, allocate, patch, launch
//   signature and statics → Program        host arithmetic for a new shape
//   program and layout → Launch            generate, compile, load

namespace ingot {

/// The results of a call, without a heap allocation for the usual few.
using Results = runtime::Written;

struct Shown;
struct Stages;
struct GradientCall;

class OpState : public std::enable_shared_from_this<OpState> {
 public:
  OpState(std::shared_ptr<const frontend::Definition> definition, OpOptions options, runtime::Runtime& runtime,
          std::shared_ptr<const EagerFallback> eager_fallback = nullptr);

  /// Calls the op, appends what it returns and tells how it returns that. Borrows the arguments' tensors and touches no
  /// reference count of theirs. Throws runtime::Unsupported before anything is written. `writable`: the parameters
  /// (bits) that the call may write. `seed`: what another call drew its random numbers from, to draw the same.
  ir::Returns call(std::span<const Argument> arguments, Results& results,
                   runtime::Purpose purpose = runtime::Purpose::Call, uint64_t writable = ~uint64_t{0},
                   const at::Tensor& seed = {}) const;
  void call_out(std::span<const Argument> arguments, std::span<const at::Tensor> outs,
                runtime::Purpose purpose = runtime::Purpose::Call, const at::Tensor& seed = {}) const;
  void prepare(std::span<const Argument> arguments) const;
  /// A call whose kernels are to be compiled with others'. It is read before forks are held, for to ask a mode of the
  /// thread takes the GIL, which who forks has.
  struct Plan {
    std::shared_ptr<const OpState> op;
    std::vector<Argument> arguments;  ///< the leaves
    runtime::KeyedParams known;
    runtime::CallKey key;
  };
  Plan plan(std::span<const Argument> arguments) const;
  /// Adds the kernels of such a call to the batch.
  static void prepare(Plan& plan, runtime::KernelBatch& batch);
  std::string emit(Stage stage, std::span<const Argument> arguments, EmitTarget target) const;
  Explanation explain(std::span<const Argument> arguments, bool of_gradient, EmitTarget target) const;
  /// How the call is computed of shards; nothing where it is not. `asks_numbers`: another number among the arguments
  /// may have another answer. Errors: those of a call with the whole tensors.
  std::optional<ShardedCall> shard(std::span<const Argument> arguments, const ShardingRequest& request,
                                   bool& asks_numbers) const;

  /// The op that gives the gradients with respect to the wanted parameters (frontend::backward).
  std::shared_ptr<const OpState> backward(const std::vector<bool>& wanted, size_t results,
                                          std::optional<ir::DType> autocast = {}, bool returns_arguments = false,
                                          const frontend::Residuals& kept = {}) const;
  /// The same for arguments that may be made up of several, of whose leaves `wanted` speaks. They become the arguments
  /// of that op: the leaves, and the gradients with respect to the results.
  std::shared_ptr<const OpState> backward(std::vector<Argument>& arguments, const std::vector<bool>& wanted,
                                          std::span<const Argument> gradients) const;

  /// The op that gives its value and the gradients (frontend::value_and_grad).
  std::shared_ptr<const OpState> value_and_grad(const std::vector<bool>& wanted, bool has_aux) const;

  /// The parameters (bits, the last one for the 64th and all behind it) whose values a call with these arguments reads,
  /// or to which gradients flow if it is recorded. The arguments may be dataless. Errors: those of lowering.
  uint64_t params_read(std::span<const Argument> arguments) const;

  /// In debug mode, before the first use of a gradient that was written by hand: runtime::check_gradient.
  void check_gradient_once(std::span<const Argument> arguments) const;

  /// The graph that kernels for these arguments are made of (simplified, calls dissolved).
  ir::Graph graph(std::span<const Argument> arguments) const;

  const frontend::Definition& definition() const { return *definition_; }
  const OpOptions& options() const { return options_; }
  /// Null where the op has none.
  const EagerFallback* eager_fallback() const { return eager_text_.get(); }

 private:
  /// A bound call and, where the table has no room for it, its owner.
  struct Found {
    const runtime::BoundCall* call;
    std::shared_ptr<const runtime::BoundCall> owner;
  };
  runtime::KeyedParams keyed() const;
  void watch(const runtime::KeyedParams& more) const;
  /// Writes the facts and finds, or makes, the call for them.
  Found find(std::span<const Argument> arguments, std::span<const at::Tensor> outs, runtime::Purpose purpose,
             runtime::CallKey& key) const;
  /// Sees to it that a call which draws random numbers has what to draw them from: what is `given`, or a seed of its
  /// own.
  void find_seed(const runtime::Program& program, runtime::Purpose purpose, const at::Tensor& given,
                 runtime::CallKey& key) const;
  /// The program for the facts, which are written anew where `known` lacks what it watches.
  std::shared_ptr<const runtime::Program> program(std::span<const Argument> arguments, std::span<const at::Tensor> outs,
                                                  const runtime::KeyedParams& known, runtime::Purpose purpose,
                                                  runtime::CallKey& key) const;
  /// The program that keeps what these gradients read of its reductions, where that is worth its memory.
  runtime::ProgramCache::Found program_for(const runtime::CallKey& key, uint64_t gradients) const;
  /// Null where a compiler would have to run, and may not.
  std::shared_ptr<const runtime::BoundCall> bind(const std::shared_ptr<const runtime::Program>& program,
                                                 const runtime::CallKey& key, bool may_compile) const;
  /// Which kernels the call needs; borrows all three.
  runtime::LaunchRequest request(const std::shared_ptr<const runtime::Program>& program,
                                 const runtime::Resolved& resolved, const runtime::CallKey& key) const;
  codegen::Options codegen_options(bool on_cuda) const;

  Shown show(std::span<const Argument> arguments, const EmitTarget& target) const;
  std::shared_ptr<const ir::Graph> graph_of(const Shown& shown) const;
  Stages stages(const Shown& shown, const EmitTarget& target) const;
  /// The call of the gradient with respect to the `wanted` parameters, for a call as `program` computes it; borrows
  /// the arguments.
  GradientCall gradient_call(const runtime::Program& program, const runtime::Resolved& resolved,
                             const runtime::CallKey& key, const std::vector<bool>& wanted,
                             const frontend::Residuals& kept) const;
  /// The same for a call that is shown: with respect to the arguments that require grad or, where none does, to all
  /// floats.
  GradientCall gradient_call(const runtime::Program& plain, const runtime::CallKey& key) const;
  /// The facts of such a call.
  runtime::CallKey key_of(const GradientCall& call, const runtime::CallKey& key) const;
  /// The arguments that the gradients of a recorded call read, taken from the gradient's own program. Where that cannot
  /// be lowered: all that the results read.
  runtime::GradientNeeds gradient_needs(const runtime::BoundCall& call, const runtime::Resolved& resolved,
                                        const runtime::CallKey& key) const;
  /// The stages Backward and BackwardSource of `emit`.
  std::string emit_backward(const runtime::Program& plain, const runtime::CallKey& key, Stage stage,
                            EmitTarget target) const;

  /// The op for arguments that are made up of several, of which it takes the leaves; null where none is.
  std::shared_ptr<const OpState> structured(std::span<const Argument> arguments, std::vector<Argument>& leaves) const;

  std::shared_ptr<const frontend::Definition> definition_;
  OpOptions options_;
  runtime::Runtime& runtime_;
  std::shared_ptr<const EagerFallback> eager_text_;
  std::shared_ptr<const OpState> value_of_;  ///< the op whose value and gradient this one gives
  mutable runtime::ProgramCache programs_;
  mutable runtime::Table<runtime::BoundCall> bound_;
  /// What the op's programs have asked to be watched so far.
  mutable std::atomic<uint64_t> watched_values_ = 0, watched_written_ = 0;
  /// A list that only grows, at its front: it is read without a lock, from `gradients_` on.
  struct Gradient {
    std::vector<bool> wanted;
    size_t results = 0;
    std::optional<ir::DType> autocast;
    bool returns_arguments = false;
    frontend::Residuals kept;
    std::shared_ptr<const OpState> op;
    std::unique_ptr<Gradient> next;
  };
  mutable std::mutex gradients_mutex_;
  mutable std::unique_ptr<Gradient> kept_gradients_;
  mutable std::atomic<const Gradient*> gradients_ = nullptr;
  mutable std::atomic<bool> gradient_checked_ = false;
  mutable std::mutex structured_mutex_;
  mutable std::map<std::string, std::shared_ptr<const OpState>> structured_;  ///< by the structures' texts
};

}  // namespace ingot
