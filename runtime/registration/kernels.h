#pragma once

#include <torch/library.h>

#include "runtime/registration/overload.h"

namespace ingot::runtime {

/// Registers the overload's kernels with the dispatcher, one for each of its keys.
void register_kernels(torch::Library& library, const char* name, const Overload& overload);

/// Whether a tensor subclass represents a plain tensor while calls are traced (fake, functional). Calls with such
/// tensors continue to the dispatcher; calls with other subclasses fall back to eager. Only the Python module can
/// decide that; until it sets a function, no subclass counts as traced.
using IsTraced = bool (*)(const at::Tensor& tensor);
void set_is_traced(IsTraced function);

}  // namespace ingot::runtime
