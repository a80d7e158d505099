#pragma once

#include <span>
#include <string>

#include "ir/host/host.h"
#include "runtime/call/call_key.h"

namespace ingot::runtime {

/// Computes the nodes of a pool from a call's facts, in order, without allocating. Returns how many were computed: all,
/// unless one fails, and then `failure` holds Python's words for why.
size_t run_host(const ir::HostPool& pool, const CallKey& key, std::span<ir::HostValue> slots, std::string& failure);

}  // namespace ingot::runtime
