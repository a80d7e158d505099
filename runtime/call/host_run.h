#pragma once

#include <span>
#include <string>

#include "ir/host/host.h"
#include "runtime/call/call_key.h"

namespace ingot::runtime {

/// Computes the nodes of a pool from a call's key, in order, without allocating: `host_values` receives a value per
/// node. Returns the number of computed nodes: all, unless one fails; then `failure` holds Python's message.
size_t run_host(const ir::HostPool& pool, const CallKey& key, std::span<ir::HostValue> host_values,
                std::string& failure);

}  // namespace ingot::runtime
