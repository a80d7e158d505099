#pragma once

#include <torch/library.h>

#include "runtime/registration/overload.h"

namespace ingot::runtime {

/// Gives the dispatcher what it calls for the overload at each of its keys.
void register_kernels(torch::Library& library, const char* name, const Overload& overload);

/// Whether a tensor subclass stands for a plain tensor while calls are traced (fake, functional): such calls go on to
/// the dispatcher, those with other subclasses to the op's text. Only the Python door knows; until it says so none is.
using IsTraced = bool (*)(const at::Tensor& tensor);
void set_is_traced(IsTraced function);

}  // namespace ingot::runtime
