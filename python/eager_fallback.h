#pragma once

#include <Python.h>

#include <memory>

#include "runtime/api/eager_fallback.h"
#include "runtime/api/op.h"

namespace ingot::python {

/// The op's text, run by Python. `tensors`: a callable that takes the parameters by name and gives a list of tensors.
std::shared_ptr<const EagerFallback> eager_fallback(std::shared_ptr<const frontend::Definition> definition,
                                                    PyObject* tensors);

/// Whether the tensor stands for a plain one while PyTorch traces calls. To be called once; imports nothing.
void know_traced_tensors();

}  // namespace ingot::python
