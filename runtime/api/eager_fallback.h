#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frontend/structured.h"
#include "runtime/api/argument.h"

namespace ingot {

/// What an op means, in eager PyTorch: what is run where no kernel of ours can be, under a transform of torch.func or
/// on a subclass. Python gives its ops one, the op's own text; ops that were made in C++ have none.
class EagerFallback {
 public:
  virtual ~EagerFallback() = default;

  /// What the op returns, from left to right. `seed`: what it draws its random numbers from, those of the op's kernel;
  /// without one PyTorch draws them by its own rules. Errors: PyTorch's own.
  virtual std::vector<at::Tensor> call(std::span<const Argument> arguments, const at::Tensor& seed) const = 0;

  /// Autograd's gradients of such results with respect to `inputs`, undefined where there is none; `incoming`: those of
  /// the results. Who runs texts under a lock has let go of it meanwhile.
  virtual std::vector<at::Tensor> gradients(const std::vector<at::Tensor>& results,
                                            const std::vector<at::Tensor>& inputs,
                                            const std::vector<at::Tensor>& incoming, bool differentiable) const;
};

/// The same of an op that takes the leaves of such arguments (frontend::structured).
std::shared_ptr<const EagerFallback> structured(std::shared_ptr<const EagerFallback> text,
                                                std::vector<frontend::Structure> arguments);

/// The same of the op that gives the gradients (frontend::backward): autograd runs through the text, under the autocast
/// that the forward call had.
std::shared_ptr<const EagerFallback> backward(std::shared_ptr<const EagerFallback> text, std::vector<bool> wanted,
                                              std::optional<ir::DType> autocast);

/// The same of frontend::value_and_grad.
std::shared_ptr<const EagerFallback> value_and_grad(std::shared_ptr<const EagerFallback> text,
                                                    std::vector<bool> wanted);

}  // namespace ingot
