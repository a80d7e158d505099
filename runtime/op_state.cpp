#include "runtime/op_state.h"

#include "base/error.h"

namespace ingot {

namespace {

using runtime::Facts;
using runtime::Purpose;

/// How many sets of facts an op remembers; past them a new shape is worked out at each of its calls.
constexpr size_t kMaxBoundCalls = 4096;

}  // namespace

OpState::OpState(std::shared_ptr<const frontend::Definition> definition, OpOptions options, runtime::Runtime& runtime)
    : definition_(std::move(definition)),
      options_(std::move(options)),
      runtime_(runtime),
      programs_(definition_, options_.numerics, options_.source_name, runtime),
      bound_(kMaxBoundCalls) {}

codegen::Options OpState::codegen_options(bool on_cuda) const {
  // The host's kernels always check indices: a wrong one would be a wild read of the process's own memory.
  return {.check_indices = options_.debug || !on_cuda, .fast_math = options_.numerics == Numerics::Fast};
}

OpState::Found OpState::find(std::span<const Argument> arguments, std::span<const at::Tensor> outs,
                             Facts& facts) const {
  const uint64_t mask = value_mask_.load(std::memory_order_acquire);
  runtime::gather(*definition_, arguments, outs, mask, Purpose::Call, facts);
  if (const runtime::BoundCall* call = bound_.find(facts.words)) return {call, nullptr};

  const runtime::Programs::Found program = programs_.find(facts);
  const std::shared_ptr<const runtime::BoundCall> call = bind(program.program, facts);
  if ((program.value_mask & ~mask) != 0) {
    // The facts as they were written lack a number on which this call depends: the next one will have it.
    value_mask_.fetch_or(program.value_mask, std::memory_order_release);
    return {call.get(), call};
  }
  if (const runtime::BoundCall* kept = bound_.insert(facts.words, call)) return {kept, nullptr};
  return {call.get(), call};
}

std::shared_ptr<const runtime::BoundCall> OpState::bind(const std::shared_ptr<const runtime::Program>& program,
                                                        const Facts& facts) const {
  const runtime::Resolved resolved = runtime::resolve(*program, facts);
  std::shared_ptr<const runtime::Launch> launch;
  const auto has_elements = [](const codegen::KernelGeometry& geometry) { return geometry.numel > 0; };
  if (std::ranges::any_of(resolved.geometries, has_elements)) {
    const bool on_cuda = facts.device.is_cuda();
    codegen::Target target;
    if (on_cuda) target = {codegen::Target::Kind::Cuda, runtime::cuda_backend().architecture(facts.device.index())};
    launch = runtime_.launches.get({.program = *program,
                                    .layouts = resolved.layouts,
                                    .target = target,
                                    .options = codegen_options(on_cuda),
                                    .device = on_cuda ? facts.device.index() : c10::DeviceIndex{0},
                                    .graph = [&] { return program->graph ? program->graph : programs_.graph(facts); },
                                    .author_text = definition_->text()});
  }
  return std::make_shared<const runtime::BoundCall>(runtime::pack(program, std::move(launch), resolved));
}

void OpState::call(std::span<const Argument> arguments, Results& results) const {
  Facts facts;
  const Found found = find(arguments, {}, facts);
  results.resize(found.call->results.size());
  runtime::run(*found.call, facts, results, options_.debug, runtime_.tally);
}

void OpState::call_out(std::span<const Argument> arguments, std::span<const at::Tensor> outs) const {
  if (outs.empty()) throw_author(Span{}, definition_->name() + ": out gives no tensor");
  Facts facts;
  const Found found = find(arguments, outs, facts);
  Results written(outs.begin(), outs.end());
  runtime::run(*found.call, facts, written, options_.debug, runtime_.tally);
  // Autograd must see that the values which it may have saved are gone.
  for (const at::Tensor& out : outs) out.unsafeGetTensorImpl()->bump_version();
}

void OpState::prepare(std::span<const Argument> arguments) const {
  Facts facts;
  find(arguments, {}, facts);
}

}  // namespace ingot
