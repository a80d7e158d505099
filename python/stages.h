#pragma once

#include <Python.h>

#include "python/arguments.h"
#include "runtime/api/op.h"

// The compilation stages of a call, as text for people. `args[0]` is described at each function. After it come
// a device (or None), an architecture, and the call's own arguments. The GIL is released meanwhile.

namespace ingot::python {

/// Op::emit for the stage named by args[0].
PyObject* emit(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

/// Op::explain as JSON; args[0]: whether to explain the gradient.
PyObject* explain(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

}  // namespace ingot::python
