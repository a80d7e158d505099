#pragma once

#include <Python.h>

#include <memory>

#include "runtime/api/eager_fallback.h"
#include "runtime/api/op.h"

namespace ingot::python {

/// The eager fallback of an op: Python runs the op's source. `run_in_eager`: a callable that takes the parameters by
/// name and returns a list of tensors.
std::shared_ptr<const EagerFallback> eager_fallback(std::shared_ptr<const frontend::Definition> definition,
                                                    PyObject* run_in_eager);

/// Registers the test whether a tensor represents a plain one while PyTorch traces calls. Call this function once; it
/// imports nothing.
void install_traced_tensor_check();

}  // namespace ingot::python
