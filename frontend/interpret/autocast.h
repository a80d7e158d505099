#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/interpret/evaluation.h"
#include "frontend/syntax/ast.h"

// torch.autocast casts the arguments of the functions on its lists (ATen's autocast_mode). The interpreter casts them
// in the same way at calls of the supported functions. In-place calls such as x.exp_() are on no list.

namespace ingot::frontend {

/// How a call's floating tensors are cast. float64 tensors and CPU scalars beside CUDA tensors are never cast.
enum class AutocastPolicy : uint8_t {
  None,            ///< not cast; functions that the body calls follow their policies
  Kernel,          ///< not cast, and the body runs without autocast, because PyTorch has one kernel for the function
  Float32,         ///< cast to float32
  Float32OrDtype,  ///< cast to float32 unless the call names a dtype
  LowerPrecision,  ///< cast to autocast's dtype (the one that torch.autocast was given)
  Widest,          ///< cast to the widest dtype; 16-bit floats other than autocast's dtype are an error
  Unsafe,          ///< an error: PyTorch rejects the function as unsafe under autocast
};

/// The policy of a function, looked up by its primary name (not by an alias).
AutocastPolicy autocast_policy(std::string_view function, Device device);

/// Casts the arguments of a call, one per parameter, if the evaluation is under autocast. Returns whether the
/// function's body must run without autocast. Errors (Author): the same as PyTorch's autocast.
bool autocast_arguments(Evaluation& evaluation, std::string_view function, std::span<const ast::Parameter> parameters,
                        std::span<std::optional<Value>> arguments);

}  // namespace ingot::frontend
