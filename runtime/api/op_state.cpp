#include "runtime/api/op_state.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/error.h"
#include "ir/host/gradient_condition.h"
#include "runtime/autograd/check_gradient.h"
#include "runtime/autograd/record.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/cache/interrupt.h"
#include "runtime/call/profiled_call.h"
#include "runtime/call/refusals.h"
#include "runtime/call/seed.h"
#include "runtime/call/without_storage.h"

namespace ingot {

namespace {

using runtime::CallKey;
using runtime::Purpose;

/// How many bound calls an op remembers. Beyond that limit, each call with a new key is bound again.
constexpr size_t kMaxBoundCalls = 4096;

/// Moves the returned results to the front and drops the others: tensors written into parameters, summands of another
/// result, and residuals. Residuals go to `node`.
void keep_returned(const runtime::BoundCall& call, Results& results, runtime::OpBackward* node) {
  size_t returned = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    const ir::Use use = call.program->results[r].use;
    if (use == ir::Use::Residual) {
      if (node) runtime::save_residual(*node, results[r]);
    } else if (use == ir::Use::Returned && call.results[r].destination.kind != runtime::Destination::Kind::Parameter) {
      if (returned != r) results[returned] = std::move(results[r]);
      ++returned;
    }
  }
  results.resize(returned);
}

/// Whether PyTorch's caching allocator is off: an allocation then ends with its tensor.
bool lacks_caching_allocator() {
  static const bool is_disabled = std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr;
  return is_disabled;
}

/// Returns the variant of the op for which the program was made.
runtime::Variant variant_of(const runtime::Program& program, const CallKey& key) {
  const bool has_residuals = std::ranges::any_of(program.results, &runtime::Program::Result::is_residual);
  return {has_residuals ? key.gradients : 0, runtime::has_scatter_sums(program)};
}

/// Rejects tensors without storage that the program accesses. A tensor without storage replaces an argument that a call
/// does not read; a tensor whose storage was freed looks the same. A kernel that read it would read address 0.
void refuse_without_storage(const runtime::Program& program, const CallKey& key) {
  const auto refuse = [&](const std::string& name) {
    throw_environment(
        fmt::format("{}: {} has no memory: its storage was freed, as `untyped_storage().resize_(0)` does; "
                    "restore it before the call or the backward pass that needs it",
                    program.name, name));
  };
  const uint64_t used = runtime::read_params(program) | runtime::written_params(program);
  for (size_t i = 0; i < key.arguments.size(); ++i)
    if ((used & ir::gradient_bit(i)) != 0 && key.arguments[i].kind == frontend::ArgumentSpec::Kind::Tensor &&
        runtime::lacks_storage(*key.arguments[i].tensor))
      refuse(runtime::parameter_name(key, i));
  for (size_t i = 0; i < key.outs.size(); ++i)
    if (runtime::lacks_storage(key.outs[i])) refuse(runtime::out_name(key.outs, i));
}

bool launches_anything(const runtime::Resolved& resolved) {
  return std::ranges::any_of(resolved.geometries, [](const auto& geometry) { return geometry.rows() > 0; });
}

bool refuses_gradients(const runtime::Program& program) {
  return std::ranges::any_of(program.checks, [&](const runtime::Program::Check& check) {
    return ir::refuses_gradients(check.condition, program.host);
  });
}

}  // namespace

OpState::OpState(std::shared_ptr<const frontend::Definition> definition, OpOptions options, runtime::Runtime& runtime,
                 std::shared_ptr<const EagerFallback> eager_fallback)
    : definition_(std::move(definition)),
      options_(std::move(options)),
      runtime_(runtime),
      eager_fallback_(std::move(eager_fallback)),
      programs_(definition_, options_.numerics, options_.source_name, runtime),
      bound_calls_(kMaxBoundCalls) {}

codegen::Options OpState::codegen_options(bool on_cuda) const {
  // CPU kernels always check indices: a wrong one could read any memory of the process.
  return {.check_indices = options_.debug || !on_cuda,
          .fast_math = options_.numerics == Numerics::Fast,
          .lazy = options_.lazy};
}

runtime::KeyedParams OpState::keyed_params() const {
  return {keyed_values_.load(std::memory_order_acquire), keyed_written_.load(std::memory_order_acquire)};
}

void OpState::add_keyed_params(const runtime::KeyedParams& more) const {
  keyed_values_.fetch_or(more.values, std::memory_order_release);
  keyed_written_.fetch_or(more.written, std::memory_order_release);
}

OpState::BoundCallRef OpState::find(std::span<const Argument> arguments, std::span<const at::Tensor> outs,
                                    Purpose purpose, CallKey& key) const {
  const runtime::KeyedParams keyed = keyed_params();
  runtime::make_call_key(*definition_, arguments, outs, keyed, purpose, key);
  if (const runtime::BoundCall* call = bound_calls_.find(key.words)) return {call, nullptr};

  std::shared_ptr<const runtime::Program> program;
  std::shared_ptr<const runtime::BoundCall> call;
  const auto bind_now = [&](bool may_compile) {
    const runtime::ForkGuard guard;
    if (!program) program = find_program(arguments, outs, keyed, purpose, key);
    call = bind(program, key, may_compile);
  };
  // `find_program` takes little time, and runs on this thread because it reads the thread's modes. A compilation runs
  // on another thread if this thread must handle signals meanwhile.
  bind_now(!runtime::handles_signals());
  if (!call) runtime::interruptibly([&] { bind_now(true); });
  const runtime::ForkGuard guard;
  if (const runtime::BoundCall* present = bound_calls_.insert(key.words, call)) return {present, nullptr};
  return {call.get(), call};
}

std::shared_ptr<const runtime::Program> OpState::find_program(std::span<const Argument> arguments,
                                                              std::span<const at::Tensor> outs,
                                                              const runtime::KeyedParams& keyed, Purpose purpose,
                                                              CallKey& key) const {
  const runtime::ProgramCache::Match match = choose_program(key, key.gradients);
  if (!keyed.covers(match.keyed)) {
    // The key lacks a value on which this call depends.
    add_keyed_params(match.keyed);
    CallKey new_key;
    new_key.default_device = key.default_device;  // a thread under a ForkGuard must not query it
    new_key.is_thread_checked = true;
    key = std::move(new_key);
    runtime::make_call_key(*definition_, arguments, outs, keyed_params(), purpose, key);
  }
  return match.program;
}

runtime::ProgramCache::Match OpState::choose_program(const CallKey& key, uint64_t gradients) const {
  runtime::ProgramCache::Match match = programs_.find(key, {.gradients = gradients});
  if (refuses_gradients(*match.program)) return match;  // resolving the call reports it
  if (!runtime::has_small_residuals(*match.program, key)) match.program = programs_.find(key).program;
  // Too many comparisons: `run` sums the gradients of the gathers instead (runtime/call/scatter_sums.h). The variant
  // with such sums needs no residuals, because the sums are differentiated like the comparisons that they replace.
  if (!runtime::is_affordable(*match.program, key)) match.program = programs_.find(key, {.may_scatter = true}).program;
  return match;
}

std::shared_ptr<const runtime::BoundCall> OpState::bind(const std::shared_ptr<const runtime::Program>& program,
                                                        const CallKey& key, bool may_compile) const {
  refuse_without_storage(*program, key);
  const runtime::Resolved resolved = runtime::resolve(*program, key, codegen_options(key.device.is_cuda()));
  std::shared_ptr<const runtime::KernelSet> kernel_set;
  if (launches_anything(resolved)) {
    runtime::KernelRequest request = kernel_request(program, resolved, key);
    request.may_compile = may_compile;
    kernel_set = runtime_.kernels.get(request);
    if (!kernel_set) return nullptr;
  }
  auto call = std::make_shared<runtime::BoundCall>(runtime::pack(program, std::move(kernel_set), resolved));
  call->atomics = options_.atomics;
  if (const uint64_t gradients = variant_of(*program, key).gradients)
    call->residuals = std::make_shared<const frontend::Residuals>(runtime::residuals_of(*program, gradients));
  if (key.is_recorded)
    call->needs = std::make_shared<const runtime::GradientNeeds>(gradient_needs(*call, resolved, key));
  return call;
}

runtime::KernelRequest OpState::kernel_request(const std::shared_ptr<const runtime::Program>& program,
                                               const runtime::Resolved& resolved, const CallKey& key) const {
  const bool on_cuda = key.device.is_cuda();
  codegen::Target target;
  if (on_cuda)
    target = {codegen::Target::Kind::Cuda, runtime::cuda_backend().architecture(key.device.index()),
              lacks_caching_allocator()};
  return {.program = *program,
          .strategy = resolved.strategy,
          .layouts = resolved.layouts,
          .target = target,
          .options = codegen_options(on_cuda),
          .device = on_cuda ? key.device.index() : c10::DeviceIndex{0},
          .graph = [&] { return programs_.graph_of(program, key, variant_of(*program, key)); },
          .op_source = definition_->source_text()};
}

std::shared_ptr<const OpState> OpState::op_of_leaves(std::span<const Argument> arguments,
                                                     std::vector<Argument>& leaves) const {
  if (std::ranges::none_of(arguments, &Argument::is_structured)) return nullptr;
  if (arguments.size() > definition_->parameters().size()) runtime::refuse_count(*definition_, arguments.size());
  std::vector<frontend::Structure> structures;
  std::string key;
  for (const Argument& argument : arguments) key += structures.emplace_back(argument.structure(leaves)).text() + "\n";
  // Omitted trailing arguments are leaves as well.
  leaves.resize(leaves.size() + definition_->parameters().size() - arguments.size());

  const runtime::ForkGuard guard;
  const std::lock_guard lock(ops_of_leaves_mutex_);
  std::shared_ptr<const OpState>& op = ops_of_leaves_[key];
  if (!op)
    op = std::make_shared<const OpState>(frontend::structured(definition_, structures), options_, runtime_,
                                         ingot::structured(eager_fallback_, structures));
  return op;
}

std::shared_ptr<const OpState> OpState::backward(const std::vector<bool>& wanted, size_t results,
                                                 std::optional<ir::DType> autocast, bool returns_arguments,
                                                 const frontend::Residuals& residuals) const {
  const auto find = [&]() -> std::shared_ptr<const OpState> {
    for (const Gradient* entry = gradients_head_.load(std::memory_order_acquire); entry != nullptr;
         entry = entry->next.get())
      if (entry->results == results && entry->wanted == wanted && entry->autocast == autocast &&
          entry->returns_arguments == returns_arguments && entry->residuals == residuals)
        return entry->op;
    return nullptr;
  };
  if (auto op = find()) return op;
  const runtime::ForkGuard guard;
  const std::lock_guard lock(gradients_mutex_);
  if (auto op = find()) return op;
  auto entry = std::make_unique<Gradient>();
  entry->wanted = wanted, entry->results = results, entry->autocast = autocast;
  entry->returns_arguments = returns_arguments, entry->residuals = residuals;
  entry->op = std::make_shared<const OpState>(
      frontend::backward(definition_, wanted, results, autocast, returns_arguments, residuals), options_, runtime_,
      ingot::backward(eager_fallback_, wanted, autocast));
  entry->next = std::move(gradients_owner_);
  gradients_owner_ = std::move(entry);
  gradients_head_.store(gradients_owner_.get(), std::memory_order_release);
  return gradients_owner_->op;
}

std::shared_ptr<const OpState> OpState::backward(std::vector<Argument>& arguments, const std::vector<bool>& wanted,
                                                 std::span<const Argument> gradients) const {
  std::vector<Argument> leaves;
  const auto op = op_of_leaves(arguments, leaves);
  if (op) arguments = std::move(leaves);
  if (wanted.size() != arguments.size())
    throw_author(Span{}, fmt::format("{}: there are {} flags of wanted gradients for {} arguments", definition_->name(),
                                     wanted.size(), arguments.size()));
  arguments.insert(arguments.end(), gradients.begin(), gradients.end());
  return (op ? *op : *this).backward(wanted, gradients.size());
}

std::shared_ptr<const OpState> OpState::value_and_grad(const std::vector<bool>& wanted, bool has_aux) const {
  const runtime::ForkGuard guard;
  const auto op = std::make_shared<OpState>(frontend::value_and_grad(definition_, wanted, has_aux), options_, runtime_,
                                            ingot::value_and_grad(eager_fallback_, wanted));
  op->value_and_grad_of_ = shared_from_this();
  return op;
}

void OpState::check_gradient_once(std::span<const Argument> arguments) const {
  if (!options_.debug || gradient_checked_ || !definition_->derivative()) return;
  runtime::check_gradient(*this, arguments);
  gradient_checked_ = true;
}

void OpState::set_seed(const runtime::Program& program, Purpose purpose, const at::Tensor& seed, CallKey& key) const {
  if (!program.uses_random) return;
  if (purpose == Purpose::BelowDispatcher && !seed.defined()) runtime::refuse_random_numbers(*definition_);
  if (seed.defined() && seed.device() != key.device) runtime::refuse_seed(*definition_, seed, key.device);
  key.seed = seed.defined() ? seed : runtime::make_seed(key.device);
}

ir::Returns OpState::call(std::span<const Argument> arguments, Results& results, Purpose purpose, uint64_t writable,
                          const at::Tensor& seed) const {
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->call(leaves, results, purpose, writable, seed);
  if (options_.debug && value_and_grad_of_) value_and_grad_of_->check_gradient_once(arguments);
  CallKey key;
  const BoundCallRef bound = find(arguments, {}, purpose, key);
  const runtime::Program& program = *bound.call->program;
  if (~writable != 0 && (runtime::written_params(program) & ~writable) != 0)
    runtime::refuse_undeclared_write(*definition_);
  if (key.is_recorded) runtime::check_recorded_writes(program, key);
  set_seed(program, purpose, seed, key);
  const runtime::ProfiledCall profiled(key);
  std::shared_ptr<runtime::OpBackward> node;
  if (key.is_recorded)
    node = runtime::begin_record(shared_from_this(), *bound.call, key, /*is_registered=*/~writable != 0);
  runtime::run(*bound.call, key, results, options_.debug, runtime_.counters);
  keep_returned(*bound.call, results, node.get());
  if (node) runtime::end_record(*node, program, key, results);
  return program.returns;
}

void OpState::call_out(std::span<const Argument> arguments, std::span<const at::Tensor> outs, Purpose purpose,
                       const at::Tensor& seed) const {
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->call_out(leaves, outs, purpose, seed);
  if (outs.empty()) throw_author(Span{}, definition_->name() + ": out contains no tensor");
  CallKey key;
  const BoundCallRef bound = find(arguments, outs, purpose, key);
  set_seed(*bound.call->program, purpose, seed, key);
  const runtime::ProfiledCall profiled(key);
  Results written;
  runtime::run(*bound.call, key, written, options_.debug, runtime_.counters);
}

void OpState::prepare(std::span<const Argument> arguments) const {
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->prepare(leaves);
  CallKey key;
  find(arguments, {}, Purpose::Call, key);
}

OpState::PendingCall OpState::make_pending_call(std::span<const Argument> arguments) const {
  PendingCall pending;
  pending.op = op_of_leaves(arguments, pending.arguments);
  if (!pending.op) {
    pending.op = shared_from_this();
    pending.arguments.assign(arguments.begin(), arguments.end());
  }
  pending.keyed = pending.op->keyed_params();
  runtime::make_call_key(*pending.op->definition_, pending.arguments, {}, pending.keyed, Purpose::Call, pending.key);
  return pending;
}

void OpState::prepare(PendingCall& pending, runtime::KernelBatch& batch) {
  const runtime::ForkGuard guard;
  const OpState& op = *pending.op;
  const std::shared_ptr<const runtime::Program> program =
      op.find_program(pending.arguments, {}, pending.keyed, Purpose::Call, pending.key);
  const runtime::Resolved resolved =
      runtime::resolve(*program, pending.key, op.codegen_options(pending.key.device.is_cuda()));
  if (launches_anything(resolved)) batch.add(op.kernel_request(program, resolved, pending.key));
}

}  // namespace ingot
