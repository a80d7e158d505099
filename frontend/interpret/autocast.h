#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "frontend/interpret/evaluation.h"
#include "frontend/syntax/ast.h"

// torch.autocast works function by function: what is on its lists gets its tensors in another dtype (ATen's
// autocast_mode). So it is at calls of the language's functions that it does so here. What is done in place, x.exp_(),
// is on no list.

namespace ingot::frontend {

/// What becomes of the floats among the tensors of a call, but for float64 and CPU scalars beside CUDA tensors.
enum class AutocastPolicy : uint8_t {
  None,            ///< they stay; what a function of the library calls is looked at in its turn
  Kernel,          ///< they stay, and so they do in what the library makes the function of: PyTorch has one kernel
  Float32,         ///< they become float32
  Float32OrDtype,  ///< they become float32 unless the call names a dtype
  Lower,           ///< they become autocast's own dtype
  Widest,          ///< they become the widest of them; of 16-bit floats only autocast's own is taken beside its like
  Refused,         ///< PyTorch calls the function unsafe
};

/// The policy of a function, by the name that its other spellings stand for.
AutocastPolicy autocast_policy(std::string_view function, Device device);

/// Casts the arguments of a call, one a parameter, where the evaluation is under autocast. Gives whether the function
/// is on a list: its body then runs without autocast. Errors (Author) where PyTorch has them.
bool autocast(Evaluation& evaluation, std::string_view function, std::span<const ast::Parameter> parameters,
              std::span<std::optional<Value>> arguments);

}  // namespace ingot::frontend
