#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frontend/structured.h"
#include "runtime/api/argument.h"

namespace ingot {

/// Runs an op in eager PyTorch if no kernel can run: under a transform of torch.func, or on a tensor subclass. Python
/// provides a fallback for each of its ops, which runs the op's source. Ops made in C++ have no fallback.
class EagerFallback {
 public:
  virtual ~EagerFallback() = default;

  /// Returns the op's results, from left to right. `seed`: the seed of the random numbers, so that they equal those of
  /// the op's kernel; without a seed PyTorch draws them by its own rules. Errors: PyTorch's own.
  virtual std::vector<at::Tensor> call(std::span<const Argument> arguments, const at::Tensor& seed) const = 0;

  /// Returns autograd's gradients of these results with respect to `inputs`, undefined if there is none; `incoming`:
  /// the gradients with respect to the results; `differentiable`: whether autograd records the computation. Python's
  /// implementation releases the GIL while autograd runs.
  virtual std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& results,
                                            const std::vector<at::Tensor>& inputs,
                                            const std::vector<at::Tensor>& incoming, bool differentiable) const;
};

/// The fallback of frontend::structured: an op whose parameters are the leaves of nested arguments.
std::shared_ptr<const EagerFallback> structured(std::shared_ptr<const EagerFallback> fallback,
                                                std::vector<frontend::Structure> arguments);

/// The fallback of the op's gradient (frontend::backward): autograd differentiates the op's source, under the autocast
/// state of the forward call. `wanted` has one flag per parameter.
std::shared_ptr<const EagerFallback> backward(std::shared_ptr<const EagerFallback> fallback, std::vector<bool> wanted,
                                              std::optional<ir::DType> autocast);

/// The fallback of frontend::value_and_grad.
std::shared_ptr<const EagerFallback> value_and_grad(std::shared_ptr<const EagerFallback> fallback,
                                                    std::vector<bool> wanted);

}  // namespace ingot
