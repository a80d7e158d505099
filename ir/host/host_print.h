#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/host/host.h"

namespace ingot::ir {

/// Prints as HostPool::print does, and appends to `abbreviated` the nodes that are printed by their id alone ("h17").
std::string print_host(const HostPool& pool, HostId id, std::span<const std::string> names,
                       std::vector<HostId>& abbreviated);

}  // namespace ingot::ir
