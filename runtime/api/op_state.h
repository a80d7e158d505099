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

// The state behind an Op. A call looks in up to three caches. Each cache is much slower than the one before
// (docs/performance.md: call-levels), and is consulted only on a miss of the one before:
//
//   call key → BoundCall                          a lock-free table: hash the key, allocate, patch, launch
//   signature and specialised values → Program    host arithmetic for a new shape
//   program and layout → KernelSet                generate, compile, load

namespace ingot {

using runtime::Results;

struct EmitContext;
struct Stages;
struct GradientCall;

class OpState : public std::enable_shared_from_this<OpState> {
 public:
  OpState(std::shared_ptr<const frontend::Definition> definition, OpOptions options, runtime::Runtime& runtime,
          std::shared_ptr<const EagerFallback> eager_fallback = nullptr);

  /// Calls the op, appends its results and returns their container (a tensor, a tuple, …). Borrows the arguments'
  /// tensors and changes no reference count. Throws runtime::Unsupported before anything is written. `writable`: a bit
  /// mask of the parameters that the call may write. `seed`: the seed of another call, to sample the same random
  /// numbers.
  ir::Returns call(std::span<const Argument> arguments, Results& results,
                   runtime::Purpose purpose = runtime::Purpose::Call, uint64_t writable = ~uint64_t{0},
                   const at::Tensor& seed = {}) const;
  /// As Op::call_out.
  void call_out(std::span<const Argument> arguments, std::span<const at::Tensor> outs,
                runtime::Purpose purpose = runtime::Purpose::Call, const at::Tensor& seed = {}) const;
  /// As Op::prepare.
  void prepare(std::span<const Argument> arguments) const;
  /// A call whose kernels are compiled together with those of other calls. Its key is computed before a ForkGuard is
  /// taken: reading the thread's modes needs the GIL, which a forking thread may hold while it waits for the guard.
  struct PendingCall {
    std::shared_ptr<const OpState> op;
    std::vector<Argument> arguments;  ///< the leaves
    runtime::KeyedParams keyed;
    runtime::CallKey key;
  };
  PendingCall make_pending_call(std::span<const Argument> arguments) const;
  /// Adds the kernels of a pending call to the batch.
  static void prepare(PendingCall& pending, runtime::KernelBatch& batch);
  std::string emit(Stage stage, std::span<const Argument> arguments, EmitTarget target) const;
  Explanation explain(std::span<const Argument> arguments, bool of_gradient, EmitTarget target) const;
  /// Decides how the call is computed on shards; empty if it cannot be. `depends_on_numbers`: the answer may differ for
  /// other numbers among the arguments. Errors: those of a call with the whole tensors.
  std::optional<ShardedCall> shard(std::span<const Argument> arguments, const ShardingRequest& request,
                                   bool& depends_on_numbers) const;

  /// The op that computes the gradients with respect to the wanted parameters (frontend::backward). `results`: how many
  /// results this op returns.
  std::shared_ptr<const OpState> backward(const std::vector<bool>& wanted, size_t results,
                                          std::optional<ir::DType> autocast = {}, bool returns_arguments = false,
                                          const frontend::Residuals& residuals = {}) const;
  /// The same for arguments that may be nested; `wanted` has one flag per leaf. Replaces `arguments` with the arguments
  /// of that op: the leaves, and the gradients with respect to the results.
  std::shared_ptr<const OpState> backward(std::vector<Argument>& arguments, const std::vector<bool>& wanted,
                                          std::span<const Argument> gradients) const;

  /// The op that computes its value and the gradients (frontend::value_and_grad).
  std::shared_ptr<const OpState> value_and_grad(const std::vector<bool>& wanted, bool has_aux) const;

  /// A bit mask of the parameters whose values a call with these arguments reads. If the call is recorded, the mask
  /// also contains the parameters to which gradients flow. The last bit is for the 64th parameter and all after it. The
  /// arguments may be without storage. Errors: those of lowering.
  uint64_t params_read(std::span<const Argument> arguments) const;

  /// In debug mode, before the first use of a custom backward: runtime::check_gradient.
  void check_gradient_once(std::span<const Argument> arguments) const;

  /// The graph from which the kernels for these arguments are generated (after all passes).
  ir::Graph graph(std::span<const Argument> arguments) const;

  const frontend::Definition& definition() const { return *definition_; }
  const OpOptions& options() const { return options_; }
  /// Null if the op has none.
  const EagerFallback* eager_fallback() const { return eager_fallback_.get(); }

 private:
  /// A bound call and, if the table has no room for it, its owner.
  struct BoundCallRef {
    const runtime::BoundCall* call;
    std::shared_ptr<const runtime::BoundCall> owner;
  };
  runtime::KeyedParams keyed_params() const;
  /// Adds parameters on whose values the key of a call depends.
  void add_keyed_params(const runtime::KeyedParams& more) const;
  /// Computes the key, and finds or makes the call for it.
  BoundCallRef find(std::span<const Argument> arguments, std::span<const at::Tensor> outs, runtime::Purpose purpose,
                    runtime::CallKey& key) const;
  /// Sets the key's seed if the call samples random numbers: to `seed` if that is defined, otherwise to a new seed.
  void set_seed(const runtime::Program& program, runtime::Purpose purpose, const at::Tensor& seed,
                runtime::CallKey& key) const;
  /// The program for the key. Computes the key again if `keyed` lacks a value on which the program depends.
  std::shared_ptr<const runtime::Program> find_program(std::span<const Argument> arguments,
                                                       std::span<const at::Tensor> outs,
                                                       const runtime::KeyedParams& keyed, runtime::Purpose purpose,
                                                       runtime::CallKey& key) const;
  /// The program that saves the residuals for these gradients if they are worth their memory, otherwise the program
  /// that saves none. If a gather's gradient would need too many comparisons: the program that leaves the
  /// scatter-adds to `run` (Variant::may_scatter).
  runtime::ProgramCache::Match choose_program(const runtime::CallKey& key, uint64_t gradients) const;
  /// Returns null if a compilation is needed but `may_compile` is false.
  std::shared_ptr<const runtime::BoundCall> bind(const std::shared_ptr<const runtime::Program>& program,
                                                 const runtime::CallKey& key, bool may_compile) const;
  /// The request for the kernels of a call; borrows all three arguments.
  runtime::KernelRequest kernel_request(const std::shared_ptr<const runtime::Program>& program,
                                        const runtime::Resolved& resolved, const runtime::CallKey& key) const;
  codegen::Options codegen_options(bool on_cuda) const;

  EmitContext make_emit_context(std::span<const Argument> arguments, const EmitTarget& target) const;
  std::shared_ptr<const ir::Graph> graph_of(const EmitContext& context) const;
  Stages make_stages(const EmitContext& context, const EmitTarget& target) const;
  /// The call of the gradient with respect to the `wanted` parameters, for a call that `program` computes; borrows the
  /// arguments.
  GradientCall make_gradient_call(const runtime::Program& program, const runtime::Resolved& resolved,
                                  const runtime::CallKey& key, const std::vector<bool>& wanted,
                                  const frontend::Residuals& residuals) const;
  /// The same for `emit` and `explain`: with respect to the arguments that require grad or, if none does, to all
  /// floats.
  GradientCall make_gradient_call(const runtime::Program& forward, const runtime::CallKey& key) const;
  /// The key of a gradient's call.
  runtime::CallKey key_of(const GradientCall& call, const runtime::CallKey& key) const;
  /// The arguments that the gradients of a recorded call read, taken from the gradient's own program. If that program
  /// cannot be lowered: all arguments that the results read.
  runtime::GradientNeeds gradient_needs(const runtime::BoundCall& call, const runtime::Resolved& resolved,
                                        const runtime::CallKey& key) const;
  /// The stages Backward and BackwardSource of `emit`.
  std::string emit_backward(const runtime::Program& forward, const runtime::CallKey& key, Stage stage,
                            EmitTarget target) const;

  /// The op that takes the leaves of nested arguments; null if no argument is nested.
  std::shared_ptr<const OpState> op_of_leaves(std::span<const Argument> arguments, std::vector<Argument>& leaves) const;

  std::shared_ptr<const frontend::Definition> definition_;
  OpOptions options_;
  runtime::Runtime& runtime_;
  std::shared_ptr<const EagerFallback> eager_fallback_;
  std::shared_ptr<const OpState> value_and_grad_of_;  ///< the op whose value and gradient this op computes
  mutable runtime::ProgramCache programs_;
  mutable runtime::Table<runtime::BoundCall> bound_calls_;
  /// Bit masks of parameters: the programs made so far depend on their values, or on whether they are written.
  mutable std::atomic<uint64_t> keyed_values_ = 0, keyed_written_ = 0;
  /// A singly linked list, extended at its front under gradients_mutex_ and read without a lock. `gradients_head_` is
  /// its head.
  struct Gradient {
    std::vector<bool> wanted;
    size_t results = 0;
    std::optional<ir::DType> autocast;
    bool returns_arguments = false;
    frontend::Residuals residuals;
    std::shared_ptr<const OpState> op;
    std::unique_ptr<Gradient> next;
  };
  mutable std::mutex gradients_mutex_;
  mutable std::unique_ptr<Gradient> gradients_owner_;
  mutable std::atomic<const Gradient*> gradients_head_ = nullptr;
  mutable std::atomic<bool> gradient_checked_ = false;
  mutable std::mutex ops_of_leaves_mutex_;
  /// The ops of the leaves of nested arguments. Key: the printed structures of the arguments.
  mutable std::map<std::string, std::shared_ptr<const OpState>> ops_of_leaves_;
};

}  // namespace ingot
