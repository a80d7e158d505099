#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/shape/outline.h"

namespace ingot::codegen {

/// A reduction, and the index of one of its values.
using ReducedValue = std::pair<ir::NodeId, uint32_t>;

/// Lists the accesses, scalar arguments and divisions of a kernel whose nodes and workspaces are known. `workspaces`:
/// those of the outline. `workspace_of`: the workspace of each value of a reduction that a later kernel reads.
void list_accesses(const ir::Graph& graph, const std::vector<Workspace>& workspaces,
                   const std::map<ReducedValue, uint32_t>& workspace_of, KernelOutline& kernel);

}  // namespace ingot::codegen
