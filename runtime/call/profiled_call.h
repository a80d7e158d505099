#pragma once

#include <ATen/record_function.h>

#include <optional>
#include <utility>

#include "runtime/call/call_key.h"

namespace ingot::runtime {

/// Shows the call in profiles and on NVTX's time line, under its op's name, during its lifetime. Its gradient's kernel
/// appears as a call of `f_backward` within autograd's own `fBackward`. Without a profiler the cost is one check, as in
/// every function of PyTorch.
class ProfiledCall {
 public:
  explicit ProfiledCall(const CallKey& key) {
    if (auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION)) [[unlikely]]
      begin(*std::move(callbacks), key);
  }

 private:
  void begin(at::StepCallbacks callbacks, const CallKey& key);

  std::optional<at::RecordFunction> record_;
};

}  // namespace ingot::runtime
