#pragma once

#include <ATen/record_function.h>

#include <optional>
#include <utility>

#include "runtime/call/call_key.h"

namespace ingot::runtime {

/// A call in profiles and on NVTX's time line, under its op's name for as long as this lives; its gradient's kernel is
/// a call of `f_backward` within autograd's own `fBackward`. Where there is no profiler it costs what it costs every
/// function of PyTorch's: to ask.
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
