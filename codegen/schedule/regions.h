#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/graph.h"

// Determines which nodes only some arms of `where`s need, so that they can be computed only if those arms are selected.

namespace ingot::codegen {

/// The part of a kernel in which a node is computed: always, or only if one arm of a decision is selected. A decision
/// may itself be within an arm of another decision.
using Region = uint32_t;
inline constexpr Region kAlways = 0;

/// Lazy `where`s with the same condition whose arms are selected together, by one branch. None of them depends on
/// another.
struct Decision {
  Region region = kAlways;  ///< the region that contains all of them
  ir::NodeId condition;
  std::vector<ir::NodeId> wheres;
};

/// The regions of a kernel whose `lazy` nodes (`where`s) compute their arms only if these are selected. A node that
/// several regions need belongs to the innermost region that contains them all; stored nodes belong to kAlways. A node
/// that depends on a gather is instead computed in each of these regions, up to a limit. Therefore no index is used
/// unless one of these regions needs it. Values that a row's elements share are computed once per row, in kAlways,
/// unless they depend on a gather.
class Regions {
 public:
  /// `roots`: the nodes that are always computed.
  Regions(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout,
          const std::vector<ir::NodeId>& roots, const std::vector<ir::NodeId>& lazy);

  /// The regions in which a node is computed; no region of the list contains another.
  const std::vector<Region>& of(ir::NodeId node) const;
  /// The innermost region that contains both regions.
  Region common(Region a, Region b) const;
  /// Whether region `outer` contains region `inner`.
  bool contains(Region outer, Region inner) const { return common(outer, inner) == outer; }
  /// The region that contains the decision of which `region` is an arm.
  Region outer(Region region) const { return decisions_[decision_of(region)].region; }

  const std::vector<Decision>& decisions() const { return decisions_; }
  /// The regions of a decision: the arm that is selected if the condition holds, and the other arm.
  static Region taken(uint32_t decision) { return 2 * decision + 1; }
  static Region otherwise(uint32_t decision) { return 2 * decision + 2; }
  static uint32_t decision_of(Region region) { return (region - 1) / 2; }

 private:
  /// Records that a region needs the node.
  void need(ir::NodeId node, Region region);
  std::vector<Region> added(std::vector<Region> regions, Region region) const;
  std::vector<Region> merged(std::vector<Region> regions) const;
  uint32_t decide(const ir::Graph& graph, ir::NodeId where, Region region);

  std::vector<Decision> decisions_;
  std::map<Region, uint32_t> last_;  ///< the last decision made in each region
  std::vector<bool> gathers_;        ///< by node number: whether the node is or depends on a gather
  std::map<ir::NodeId, std::vector<Region>> regions_;
};

/// The regions of each access of the outline. The accesses of an access group share the region that contains them all;
/// a store is in kAlways.
std::vector<std::vector<Region>> regions_of_accesses(const Regions& regions, const ir::Graph& graph,
                                                     const KernelOutline& outline, const KernelLayout& layout);

/// A hoisted predicate: an access is needed only if the value of the condition equals `holds`.
struct HoistedPredicate {
  ir::NodeId condition;
  bool holds = true;
};
/// The predicate of an access with these regions, if it can be evaluated ahead of everything else. Since it is
/// evaluated again later, it must depend only on elements that are loaded anyway, through ops of one instruction each.
std::optional<HoistedPredicate> hoisted_predicate(const Regions& regions, const std::vector<Region>& of_access,
                                                  const ir::Graph& graph, const KernelOutline& outline);

}  // namespace ingot::codegen
