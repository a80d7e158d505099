#pragma once

#include <Python.h>

#include "python/arguments.h"
#include "runtime/api/op.h"

// What a call becomes, for a reader. `args`: what each names, then a device (which may be None) and an architecture,
// then the call's own arguments. Other Python threads run meanwhile.

namespace ingot::python {

/// Op::emit, of a stage by its name.
PyObject* emit(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

/// Op::explain as JSON; args[0]: whether of the gradient.
PyObject* explain(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

}  // namespace ingot::python
