#include "runtime/api/op.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>

#include "base/error.h"
#include "runtime/api/op_state.h"
#include "runtime/autograd/check_gradient.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/cache/interrupt.h"
#include "runtime/call/refusals.h"

namespace ingot {

namespace {

std::shared_ptr<const frontend::Definition> define_text(std::string text, const OpOptions& options) {
  const runtime::ForkGuard guard;
  return frontend::define(std::make_shared<const Source>(options.source_name, std::move(text)), options.name);
}

/// One flag per parameter, set for the named ones.
std::vector<bool> flags_of(const frontend::Definition& definition, std::span<const std::string> names) {
  const std::span<const frontend::Parameter> parameters = definition.parameters();
  std::vector<bool> flags(parameters.size());
  for (const std::string& name : names) {
    const auto found = std::ranges::find(parameters, name, &frontend::Parameter::name);
    if (found == parameters.end()) runtime::refuse_keyword(definition, name);
    flags[static_cast<size_t>(found - parameters.begin())] = true;
  }
  return flags;
}

}  // namespace

Op::Op(std::string text, OpOptions options) : Op(define_text(std::move(text), options), options) {}

Op::Op(std::shared_ptr<const frontend::Definition> definition, OpOptions options,
       std::shared_ptr<const EagerFallback> eager_fallback) {
  const runtime::ForkGuard guard;  // the first use creates the runtime
  state_ = std::make_shared<const OpState>(std::move(definition), std::move(options), runtime::default_runtime(),
                                           std::move(eager_fallback));
}

at::Tensor Op::call_one(std::span<const Argument> arguments) const {
  Results results;
  state_->call(arguments, results);
  if (results.size() != 1)
    throw_author(Span{}, fmt::format("{}: the op returns {} tensors, and this call takes one", name(), results.size()),
                 "use Op::call, which returns all of them");
  return std::move(results[0]);
}

std::vector<at::Tensor> Op::call(std::span<const Argument> arguments) const {
  Results results;
  state_->call(arguments, results);
  return {std::make_move_iterator(results.begin()), std::make_move_iterator(results.end())};
}

void Op::call_out(std::span<const Argument> arguments, std::span<const at::Tensor> results) const {
  state_->call_out(arguments, results);
}

void Op::prepare(std::span<const Argument> arguments) const { state_->prepare(arguments); }

Op Op::gradient(std::span<const std::string> parameters, size_t results) const {
  return Op(state_->backward(flags_of(state_->definition(), parameters), results, {}, /*returns_arguments=*/true));
}

Op Op::value_and_grad(std::span<const std::string> parameters, bool has_aux) const {
  return Op(state_->value_and_grad(flags_of(state_->definition(), parameters), has_aux));
}

void Op::check_gradient(std::span<const Argument> arguments) const { runtime::check_gradient(*state_, arguments); }

std::string Op::emit(Stage stage, std::span<const Argument> arguments, EmitTarget target) const {
  return state_->emit(stage, arguments, target);
}

Explanation Op::explain(std::span<const Argument> arguments, bool of_gradient, EmitTarget target) const {
  return state_->explain(arguments, of_gradient, target);
}

const std::string& Op::name() const { return state_->definition().name(); }
std::span<const frontend::Parameter> Op::parameters() const { return state_->definition().parameters(); }
std::string_view Op::text() const { return state_->definition().source_text(); }

void prepare(std::span<const CallToPrepare> calls) {
  std::exception_ptr failure;
  const auto attempt = [&](const auto& step) {
    try {
      runtime::throw_if_interrupted();
      step();
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  };
  std::deque<OpState::PendingCall> pending_calls;
  for (const CallToPrepare& call : calls)
    attempt([&] { pending_calls.push_back(call.op.state().make_pending_call(call.arguments)); });
  runtime::KernelBatch batch(runtime::default_runtime().kernels);
  runtime::interruptibly([&] {
    const runtime::ForkGuard guard;
    for (OpState::PendingCall& pending : pending_calls) attempt([&] { OpState::prepare(pending, batch); });
    attempt([&] { batch.compile(); });
  });
  // Does the rest of a first call, which includes the compilation of GPU kernels.
  for (const CallToPrepare& call : calls) attempt([&] { call.op.prepare(call.arguments); });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ingot
