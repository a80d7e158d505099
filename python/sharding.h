#pragma once

#include <Python.h>

#include "python/arguments.h"
#include "runtime/api/op.h"

namespace ingot::python {

/// OpState::shard of the values in `args`: a device, a list of tensors, a MeshCut (cuts, has_unit_shards,
/// has_empty_shards) for each dim of the mesh, and whether a gradient is requested; then the call's own arguments.
/// Returns (depends_on_numbers, sharding). A sharding is None or (cuts of the tensors for each dim of the mesh, (dtype,
/// shape, strides, cuts) of each result).
PyObject* shard(const Op& op, const CallForm& form, PyObject* const* args, size_t count, PyObject* keywords);

}  // namespace ingot::python
