#pragma once

#include <Python.h>

#include "python/arguments.h"
#include "runtime/api/op.h"

namespace ingot::python {

/// OpState::split of what stands in `args`: a device, a list of tensors, a MeshCut (cuts, leaves_ones, leaves_empty)
/// for each dim of the mesh, whether a gradient is asked for; then the call's own arguments. Gives (asks_numbers,
/// split), where a split is None or (cuts of the tensors for each dim of the mesh, (dtype, shape, strides, cuts) of
/// each result).
PyObject* shard(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

}  // namespace ingot::python
