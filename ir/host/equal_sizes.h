#pragma once

#include <algorithm>
#include <map>
#include <span>

#include "ir/host/condition.h"

namespace ingot::ir {

/// Determines which host integers are equal if the conditions hold: integers that the pool knows to be equal, and
/// integers that an Equal condition requires to be equal.
class EqualSizes {
 public:
  EqualSizes(const HostPool& host, std::span<const Condition> conditions) : host_(host) {
    for (const Condition& condition : conditions) {
      if (condition.kind != Condition::Kind::Equal) continue;
      const HostId a = representative(condition.a), b = representative(condition.b);
      if (a != b) equal_to_[std::max(a, b)] = std::min(a, b);
    }
  }

  bool operator()(HostId a, HostId b) const { return representative(a) == representative(b); }

 private:
  /// The representative of the integers that are equal to this one: the integer with the smallest id.
  HostId representative(HostId id) const {
    id = host_.resolve(id);
    for (auto link = equal_to_.find(id); link != equal_to_.end(); link = equal_to_.find(id)) id = link->second;
    return id;
  }

  const HostPool& host_;
  std::map<HostId, HostId> equal_to_;  ///< maps an integer to an equal one with a smaller id
};

}  // namespace ingot::ir
