#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/host/host.h"

namespace ingot::ir {

/// HostPool::print, which also appends to `cut` the nodes that it prints as numbers.
std::string print_host(const HostPool& pool, HostId id, std::span<const std::string> names, std::vector<HostId>& cut);

}  // namespace ingot::ir
