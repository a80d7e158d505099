#pragma once

#include <optional>
#include <span>
#include <vector>

#include "frontend/tensor/builder.h"

// The dims of a node's index along which its value varies.

namespace ingot::frontend {

/// For each dim, the last one first (entry j is the j-th dim from the end): its size if the value varies along the dim,
/// else nullopt.
using VaryingDims = std::vector<std::optional<ir::HostId>>;

/// Adds the dims of `more` to those of `varying`.
void add_varying(VaryingDims& varying, const VaryingDims& more);
/// Whether two values vary along the same dims, whatever the sizes.
bool same_dims(const VaryingDims& a, const VaryingDims& b);

/// The dims along which the position that an access reads varies, apart from indirect indices.
VaryingDims varying_dims_of(const Builder& builder, const ir::Access& access);
/// The varying dims of a node and of all that it depends on over its own index. Operands of reductions have another
/// index and do not count.
VaryingDims varying_dims_of(const Builder& builder, ir::NodeId node);

/// The operands that a node's value depends on; for a call, its body alone.
std::span<const ir::NodeId> operands(const ir::Graph& graph, ir::NodeId id);

}  // namespace ingot::frontend
