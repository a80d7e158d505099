#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// Along which dims of its index a node's value changes.

namespace ingot::frontend {

/// The last dim first: how long it is, where the value moves along it.
using VaryingDims = std::vector<std::optional<ir::HostId>>;

void add_varying(VaryingDims& moves, const VaryingDims& more);
bool same_dims(const VaryingDims& a, const VaryingDims& b);

VaryingDims varying_dims_of(const Builder& builder, const ir::Access& access);
/// Of a node and all that it is made of over its own index, which what is reduced is not.
VaryingDims varying_dims_of(const Builder& builder, ir::NodeId node);

/// What a node's value is made of: a call is its body.
std::span<const ir::NodeId> operands(const ir::Graph& graph, ir::NodeId id);

}  // namespace ingot::frontend
