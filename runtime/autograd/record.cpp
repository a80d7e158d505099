#include "runtime/autograd/record.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>

#include <algorithm>
#include <exception>
#include <list>
#include <optional>
#include <utility>
#include <variant>

#include "runtime/call/host_run.h"
#include "runtime/call/refusals.h"
#include "runtime/call/without_storage.h"

namespace ingot::runtime {

namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

/// A saved argument of an autograd node. Autograd's SavedVariable saves a tensor and detects later writes. Nothing
/// (std::monostate) is saved for a tensor that no gradient reads, nor for an omitted argument.
using SavedArgument = std::variant<std::monostate, NoneType, ir::HostValue, SavedVariable>;

/// Whether eager differentiates the op's source after the kernel of its gradient failed with this error. There are two
/// such cases. The incoming gradients are unsupported on the fast path, for example under a vmap over several of them.
/// Or no kernel can be made, because the gradient is too large or a function has no derivative rule; this case is slow,
/// so the function also warns. A custom backward has no replacement in the second case.
bool falls_back_to_eager(const OpState& gradient, const OpState& op, const Error& error) {
  if (gradient.eager_fallback() == nullptr || error.fault() != Fault::Author) return false;
  if (dynamic_cast<const Unsupported*>(&error) != nullptr) return true;
  if (op.definition().derivative()) return false;
  TORCH_WARN(op.definition().name(),
             ": no kernel computes its gradient, so autograd differentiates the op's source in eager. The reason: ",
             error.what());
  return true;
}

/// Arguments for eager PyTorch, which reads all of them: zeros replace tensors without storage. The gradient does not
/// depend on their values.
class FallbackArguments {
 public:
  explicit FallbackArguments(std::span<const Argument> arguments) : arguments_(arguments.begin(), arguments.end()) {
    for (Argument& argument : arguments_) {
      const at::Tensor* tensor = argument.tensor();
      if (tensor == nullptr || !has_supported_keys(*tensor) || !lacks_storage(*tensor)) continue;
      at::Tensor& zeros = zeros_.emplace_back(at::empty_strided(tensor->sizes(), tensor->strides(), tensor->options()));
      argument = Argument(std::as_const(zeros.zero_()));
    }
  }

  std::span<const Argument> arguments() const { return arguments_; }

 private:
  std::list<at::Tensor> zeros_;
  std::vector<Argument> arguments_;
};

/// Calls the gradient of `op`, or falls back to eager. The last `residual_count` arguments are residuals.
void call_or_fall_back(const OpState& gradient, const OpState& op, std::span<const Argument> arguments,
                       size_t residual_count, const at::Tensor& seed, Results& results) {
  try {
    gradient.call(arguments, results, Purpose::Call, ~uint64_t{0}, seed);
  } catch (const Error& error) {
    if (!falls_back_to_eager(gradient, op, error)) throw;
    // The op's source recomputes the residuals.
    const FallbackArguments all(arguments.first(arguments.size() - residual_count));
    for (at::Tensor& result : gradient.eager_fallback()->call(all.arguments(), seed))
      results.push_back(std::move(result));
  }
}

}  // namespace

/// The autograd node that computes the gradient of a call.
class OpBackward : public torch::autograd::Node {
 public:
  OpBackward(std::shared_ptr<const OpState> op, const BoundCall& call, const CallKey& key, uint64_t differentiable)
      : op_(std::move(op)), autocast_(key.autocast), needs_(call.needs), residuals_(call.residuals) {
    if (residuals_) residual_values_.reserve(residuals_->names.size());
    // The node copies an argument that the op is about to write, because the gradient reads the value before the write.
    // An op writes no parameter past the first 64.
    const auto is_written = [written = written_params(*call.program)](size_t i) {
      return i < 64 && (written >> i & 1);
    };
    torch::autograd::edge_list edges;
    for (size_t i = 0; i < key.arguments.size(); ++i) {
      const BoundArgument& argument = key.arguments[i];
      const at::Tensor* tensor = argument.tensor;
      const bool has_gradient =
          tensor != nullptr && tensor->requires_grad() && (differentiable & ir::gradient_bit(i)) != 0;
      edge_of_.push_back(has_gradient ? static_cast<int>(edges.size()) : kNone);
      if (edge_of_.back() != kNone) edges.push_back(torch::autograd::impl::gradient_edge(*tensor));
      if (tensor != nullptr && (needs_->may_read(i) || !needs_->placeholders[i].defined()))
        arguments_.emplace_back(SavedVariable(is_written(i) ? tensor->clone() : *tensor, false));
      else if (argument.kind == frontend::ArgumentSpec::Kind::Number)
        arguments_.emplace_back(argument.number);
      else if (argument.kind == frontend::ArgumentSpec::Kind::None)
        arguments_.emplace_back(None);
      else
        arguments_.emplace_back();
    }
    if (key.seed.defined()) seed_ = SavedVariable(key.seed, false);
    set_next_edges(std::move(edges));
  }

  std::string name() const override { return op_->definition().name() + "Backward"; }

  /// Makes this node the grad_fn of a result; `index` is the result's index among the op's results.
  void add_result(const at::Tensor& result, size_t index) {
    gradient_of_.resize(index + 1, kNone);
    gradient_of_[index] = static_cast<int>(num_inputs());
    torch::autograd::set_history(result, shared_from_this());
  }
  void set_result_count(size_t count) { gradient_of_.resize(count, kNone); }

  void save_residual(const at::Tensor& value) { residual_values_.emplace_back(value, false); }

  void release_variables() override {
    const std::lock_guard lock(mutex_);
    for (SavedArgument& argument : arguments_)
      if (auto* saved = std::get_if<SavedVariable>(&argument)) saved->reset_data();
    for (SavedVariable& saved : residual_values_) saved.reset_data();
    if (seed_) seed_->reset_data();
  }

  variable_list apply(variable_list&& gradients) override {
    // A gradient that will itself be differentiated recomputes the residuals, because saved ones have no history.
    const bool uses_residuals = residuals_ && !c10::GradMode::is_enabled();
    std::vector<bool> wanted;
    for (const int edge : edge_of_) wanted.push_back(edge != kNone && task_should_compute_output(size_t(edge)));
    if (std::ranges::find(wanted, true) == wanted.end()) return variable_list(num_outputs());
    Unpacked unpacked = unpack(uses_residuals);
    std::vector<Argument>& arguments = unpacked.arguments;
    for (const int gradient : gradient_of_) {
      const bool is_defined = gradient != kNone && gradients[size_t(gradient)].defined();
      arguments.emplace_back(is_defined ? Argument(std::as_const(gradients[size_t(gradient)])) : Argument());
    }
    for (const at::Tensor& tensor : unpacked.residuals) arguments.emplace_back(tensor);
    const auto gradient = op_->backward(wanted, gradient_of_.size(), autocast_, /*returns_arguments=*/true,
                                        uses_residuals ? *residuals_ : kNoResiduals);
    if (!unpacked.unavailable.empty()) refuse_unavailable(unpacked, *gradient);
    op_->check_gradient_once(std::span(arguments).first(arguments_.size()));
    Results results;
    call_or_fall_back(*gradient, *op_, arguments, unpacked.residuals.size(), unpacked.seed, results);
    variable_list input_gradients(num_outputs());
    size_t next = 0;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i]) input_gradients[size_t(edge_of_[i])] = std::move(results[next++]);
    return input_gradients;
  }

 private:
  static constexpr int kNone = -1;
  inline static const frontend::Residuals kNoResiduals;

  /// The arguments of the gradient's call.
  struct Unpacked {
    std::vector<at::Tensor> tensors, residuals;
    std::vector<Argument> arguments;  ///< borrows these tensors
    at::Tensor seed;
    /// Arguments that autograd does not return, because they were written or freed, with autograd's errors. Tensors
    /// without storage replace them.
    std::vector<std::pair<size_t, std::exception_ptr>> unavailable;
  };

  Unpacked unpack(bool uses_residuals) {
    Unpacked unpacked;
    unpacked.tensors.reserve(arguments_.size());
    unpacked.residuals.reserve(residual_values_.size());
    const std::lock_guard lock(mutex_);
    if (seed_) unpacked.seed = seed_->unpack();
    if (uses_residuals)
      for (const SavedVariable& saved : residual_values_) unpacked.residuals.push_back(saved.unpack());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (const auto* saved = std::get_if<SavedVariable>(&arguments_[i]))
        unpacked.arguments.emplace_back(unpacked.tensors.emplace_back(unpack(*saved, i, unpacked)));
      else if (const auto* number = std::get_if<ir::HostValue>(&arguments_[i]))
        unpacked.arguments.emplace_back(*number);
      else if (std::holds_alternative<NoneType>(arguments_[i]))
        unpacked.arguments.emplace_back(None);
      else
        unpacked.arguments.push_back(needs_->placeholders[i].defined() ? Argument(needs_->placeholders[i])
                                                                       : Argument());
    }
    return unpacked;
  }

  at::Tensor unpack(const SavedVariable& saved, size_t index, Unpacked& unpacked) const {
    try {
      return saved.unpack();
    } catch (const c10::Error&) {
      if (!needs_->placeholders[index].defined()) throw;
      unpacked.unavailable.emplace_back(index, std::current_exception());
      return needs_->placeholders[index];
    }
  }

  /// Throws autograd's error if this gradient reads an argument that was freed or modified. Not every gradient reads
  /// every argument: it may be with respect to a few arguments only, or of a few results.
  static void refuse_unavailable(const Unpacked& unpacked, const OpState& gradient) {
    uint64_t reads = ~uint64_t{0};
    try {
      reads = gradient.params_read(unpacked.arguments);
    } catch (const Error&) {  // eager computes the gradient from all arguments
    }
    for (const auto& [index, error] : unpacked.unavailable)
      if ((reads & ir::gradient_bit(index)) != 0) std::rethrow_exception(error);
  }

  std::shared_ptr<const OpState> op_;
  std::optional<ir::DType> autocast_;     ///< autocast's dtype during the call
  std::vector<SavedArgument> arguments_;  ///< one per parameter
  std::shared_ptr<const GradientNeeds>
      needs_;  ///< which arguments a gradient reads, with placeholders (tensors without storage) for the others
  std::shared_ptr<const frontend::Residuals> residuals_;  ///< the names of the residuals
  std::vector<SavedVariable> residual_values_;            ///< one per name of residuals_
  std::optional<SavedVariable> seed_;  ///< of a call with random numbers, so that its gradient samples the same
  std::vector<int> edge_of_;           ///< for each parameter, the index of its edge, or kNone
  std::vector<int> gradient_of_;       ///< for each result, the input of this node that is its gradient, or kNone
};

namespace {

/// Residuals must be smaller than the arguments by this factor to be worth saving.
constexpr int64_t kMinArgumentRatio = 16;

}  // namespace

bool has_small_residuals(const Program& program, const CallKey& key) {
  if (std::ranges::none_of(program.results, &Program::Result::is_residual)) return true;
  std::vector<ir::HostValue> host_values(program.host.count());
  std::string failure;
  run_host(program.host, key, host_values, failure);
  if (!failure.empty()) return true;  // resolving the call reports it
  int64_t residual_bytes = 0, argument_bytes = 0;
  for (const Program::Result& result : program.results) {
    if (!result.is_residual()) continue;
    int64_t bytes = ir::size_of(result.dtype);
    for (const ir::HostId size : result.shape) bytes *= host_values[size.index].as_int();
    residual_bytes += bytes;
  }
  for (const BoundArgument& argument : key.arguments)
    if (argument.kind == frontend::ArgumentSpec::Kind::Tensor)
      argument_bytes += static_cast<int64_t>(argument.tensor->nbytes());
  return residual_bytes * kMinArgumentRatio <= argument_bytes;
}

std::shared_ptr<OpBackward> begin_record(std::shared_ptr<const OpState> op, const BoundCall& call, const CallKey& key,
                                         bool is_registered) {
  uint64_t differentiable = 0;
  for (const Program::Result& result : call.program->results)
    if (!result.mutates && !result.forwards) differentiable |= result.gradients;
  if ((differentiable & key.gradients) == 0) return nullptr;
  return std::make_shared<OpBackward>(std::move(op), call, key, is_registered ? ~uint64_t{0} : differentiable);
}

void save_residual(OpBackward& node, const at::Tensor& value) { node.save_residual(value); }

void end_record(OpBackward& node, const Program& program, const CallKey& key, std::span<const at::Tensor> results) {
  size_t index = 0;
  for (const Program::Result& result : program.results) {
    if (result.mutates || result.use != ir::Use::Returned) continue;
    // A forwarded argument has its own history.
    if (!result.forwards && (result.gradients & key.gradients) != 0) node.add_result(results[index], index);
    ++index;
  }
  node.set_result_count(index);
}

void check_recorded_writes(const Program& program, const CallKey& key) {
  for (const Program::Result& result : program.results) {
    if (!result.mutates) continue;
    const at::Tensor* written = key.arguments[*result.mutates].tensor;
    const std::string name = parameter_name(key, *result.mutates);
    if (written != nullptr && written->requires_grad())
      throw_unsupported(fmt::format("{}: {} requires grad, and the op writes into it", program.name, name),
                        "return the new value instead, or call under torch.no_grad()");
    if ((result.gradients & key.gradients) != 0)
      throw_unsupported(
          fmt::format("{}: the value that the op writes into {} has a gradient, which autograd would lose",
                      program.name, name),
          "return the new value instead, write a detached value, or call under torch.no_grad()");
  }
}

}  // namespace ingot::runtime
