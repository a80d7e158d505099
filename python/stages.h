#pragma once

#include <Python.h>

#include "python/arguments.h"
#include "runtime/api/op.h"

// The compilation stages of a call, as text for people. `args`: first an argument that each function names, then a
// device (which may be None) and an architecture, then the call's own arguments. Other Python threads run meanwhile.

namespace ingot::python {

/// Op::emit for the stage named by args[0].
PyObject* emit(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

/// Op::explain as JSON; args[0]: whether to explain the gradient.
PyObject* explain(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

}  // namespace ingot::python
