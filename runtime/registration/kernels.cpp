#include "runtime/registration/kernels.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>

#include <atomic>

#include "runtime/call/refusals.h"
#include "runtime/registration/overload_backward.h"

// The dispatcher handles a call's dispatch keys from the outside in: transforms and autocast, autograd, then the
// backend. A call that the fast path supports runs at the first of these keys.

namespace ingot::runtime {

namespace {

using Values = c10::ArrayRef<c10::IValue>;
using torch::jit::Stack;

std::atomic<IsTraced> is_traced = nullptr;

template <typename Test>
bool any_tensor(Values values, Test test) {
  bool found = false;
  for_each_tensor(values, [&](const at::Tensor& tensor) { found = found || test(tensor); });
  return found;
}

bool is_supported_call(Values values) {
  std::optional<c10::Device> default_device;
  return thread_is_supported(default_device) &&
         !any_tensor(values, [](const at::Tensor& tensor) { return !is_supported(tensor, false); });
}

/// Whether the tensor is a subclass, other than those of a trace, whose `__torch_dispatch__` must be called with
/// PyTorch's own functions, as the op's source calls them.
bool is_subclass(const at::Tensor& tensor) {
  const IsTraced test = is_traced.load();
  return tensor.key_set().has(c10::DispatchKey::Python) && !(test != nullptr && test(tensor));
}

bool carries_tangent(const at::Tensor& tensor) { return tensor._fw_grad(0).defined(); }

bool requires_grad(const at::Tensor& tensor) { return tensor.requires_grad(); }

/// The base of the kernels below, which differ in the dispatch keys for which they are registered.
class DispatcherKernel : public c10::OperatorKernel {
 public:
  explicit DispatcherKernel(const Overload& overload) : overload_(overload), writable_(overload.writable()) {}

 protected:
  Values values(const Stack& stack) const { return torch::jit::last(stack, overload_.schema.arguments().size()); }

  /// Calls the op's kernels. If the fast path does not support these arguments: returns false, with the stack
  /// unchanged, or throws if the op cannot fall back.
  bool call(Stack& stack, Purpose purpose) const {
    Results results;
    try {
      const DispatcherCall call(overload_, values(stack));
      if (call.outs().empty())
        call.op().call(call.arguments(), results, purpose, writable_, call.seed());
      else
        call.op().call_out(call.arguments(), call.outs(), purpose, call.seed());
    } catch (const Unsupported&) {
      if (purpose == Purpose::BelowDispatcher || overload_.op.state().eager_fallback() == nullptr) throw;
      return false;
    }
    push_results(overload_, results, stack);
    return true;
  }

  /// Runs the op's source in eager.
  void run_fallback(Stack& stack) const {
    std::vector<at::Tensor> results;
    {
      const DispatcherCall call(overload_, values(stack));
      if (call.op().eager_fallback() == nullptr)
        throw_unsupported(overload_.op.name() +
                              ": a transform, a tangent, a subclass or autocast in a trace needs the eager fallback, "
                              "which an op made in C++ lacks",
                          "register it from Python, where ops have their source");
      results = call.op().eager_fallback()->call(call.arguments(), call.seed());
      for (size_t i = 0; i < call.outs().size(); ++i) call.outs()[i].copy_(results.at(i));
      if (!call.outs().empty()) results.clear();
    }
    push_results(overload_, results, stack);
  }

  const Overload& overload_;
  const uint64_t writable_;
};

/// For the keys CPU and CUDA: launches the op's kernels.
class BackendKernel final : public DispatcherKernel {
 public:
  using DispatcherKernel::DispatcherKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
    const c10::AutoGradMode unrecorded(false);  // autograd has already run
    call(*stack, Purpose::BelowDispatcher);
  }
};

/// For vmap: always falls back to eager.
class FallbackKernel final : public DispatcherKernel {
 public:
  using DispatcherKernel::DispatcherKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) { run_fallback(*stack); }
};

/// For the autocast keys: calls the op if the fast path supports the call, else falls back to eager.
class AutocastKernel final : public DispatcherKernel {
 public:
  using DispatcherKernel::DispatcherKernel;
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet, Stack* stack) {
    if (!is_supported_call(values(*stack)) || !call(*stack, Purpose::Call)) run_fallback(*stack);
  }
};

/// For the autograd keys: calls the op on the fast path, or falls back to eager, or makes an autograd node and
/// continues below autograd.
class AutogradKernel final : public DispatcherKernel {
 public:
  using DispatcherKernel::DispatcherKernel;
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys, Stack* stack) {
    if (is_supported_call(values(*stack)) && call(*stack, Purpose::Call)) return;
    if (is_transformed() || any_tensor(values(*stack), carries_tangent) || any_tensor(values(*stack), is_subclass))
      return run_fallback(*stack);
    std::shared_ptr<OverloadBackward> node;
    if (c10::GradMode::is_enabled() && any_tensor(values(*stack), requires_grad)) {
      if (!overload_.backward) return run_fallback(*stack);
      node = std::make_shared<OverloadBackward>(overload_, values(*stack));
    }
    {
      const at::AutoDispatchBelowADInplaceOrView below_autograd;
      handle.redispatchBoxed(keys & c10::after_ADInplaceOrView_keyset, stack);
    }
    if (node) node->record(torch::jit::last(*stack, overload_.schema.returns().size()));
  }
};

template <typename K>
torch::CppFunction boxed_function(const Overload& overload) {
  return torch::CppFunction::makeFromBoxedKernel(c10::BoxedKernel::makeFromFunctor(std::make_unique<K>(overload)));
}

}  // namespace

void set_is_traced(IsTraced test) { is_traced.store(test); }

void register_kernels(torch::Library& library, const char* name, const Overload& overload) {
  using c10::DispatchKey;
  const auto register_for = [&]<typename K>(DispatchKey key) {
    library.impl(name, torch::dispatch(key, boxed_function<K>(overload)));
  };
  register_for.template operator()<BackendKernel>(DispatchKey::CPU);
  register_for.template operator()<BackendKernel>(DispatchKey::CUDA);
  register_for.template operator()<AutogradKernel>(DispatchKey::Autograd);
  register_for.template operator()<AutocastKernel>(DispatchKey::AutocastCPU);
  register_for.template operator()<AutocastKernel>(DispatchKey::AutocastCUDA);
  if (overload.op.state().eager_fallback() != nullptr)
    register_for.template operator()<FallbackKernel>(DispatchKey::FuncTorchBatchedDecomposition);
}

}  // namespace ingot::runtime
