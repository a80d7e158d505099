#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "codegen/shape/layout.h"
#include "ir/graph.h"

// What only some arms of `where`s need, and so may be computed where those are taken and nowhere else.

namespace ingot::codegen {

/// Where in a kernel a node is computed: always, or within one arm of a decision, which itself may lie within another.
using Region = uint32_t;
inline constexpr Region kAlways = 0;

/// `where`s of one condition that are decided at once. None of them needs another's result.
struct Decision {
  Region region = kAlways;  ///< in which all of them stand
  ir::NodeId condition;
  std::vector<ir::NodeId> wheres;
};

/// The regions of a kernel whose `lazy` nodes, `where`s, compute their arms only where they are taken. A node that is
/// needed in several regions belongs to the innermost that holds them all, and what is stored to kAlways. Not so what
/// gathers: it is computed in each of them anew, up to a number, so that no index is looked at that all of them
/// exclude. And what a row's elements share is computed once a row, whoever needs it, unless it gathers.
class Regions {
 public:
  /// `roots`: what is computed always.
  Regions(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout,
          const std::vector<ir::NodeId>& roots, const std::vector<ir::NodeId>& lazy);

  /// Where a node is computed; none of these lies within another.
  const std::vector<Region>& of(ir::NodeId node) const;
  /// The innermost region that holds both.
  Region common(Region a, Region b) const;
  bool holds(Region outer, Region inner) const { return common(outer, inner) == outer; }
  /// The region in which the decision of this one stands.
  Region outer(Region region) const { return decisions_[decision_of(region)].region; }

  const std::vector<Decision>& decisions() const { return decisions_; }
  static Region taken(uint32_t decision) { return 2 * decision + 1; }
  static Region otherwise(uint32_t decision) { return 2 * decision + 2; }
  static uint32_t decision_of(Region region) { return (region - 1) / 2; }

 private:
  void need(ir::NodeId node, Region region);
  std::vector<Region> with(std::vector<Region> regions, Region region) const;
  std::vector<Region> merged(std::vector<Region> regions) const;
  uint32_t decide(const ir::Graph& graph, ir::NodeId where, Region region);

  std::vector<Decision> decisions_;
  std::map<Region, uint32_t> last_;  ///< the last decision made in each region
  std::vector<bool> gathers_;        ///< whether a node depends on a gather or is one, by its number
  std::map<ir::NodeId, std::vector<Region>> regions_;
};

/// The regions of each access of the outline: of the members of a group the one that holds them all, of a store
/// kAlways.
std::vector<std::vector<Region>> regions_of_accesses(const Regions& regions, const ir::Graph& graph,
                                                     const KernelOutline& outline, const KernelLayout& layout);

/// The condition under which alone an access is made: where it holds, or where it does not.
struct Foreseen {
  ir::NodeId condition;
  bool holds = true;
};
/// That of an access with these regions, if it may be found ahead of everything else, and then again: of elements that
/// are read anyway, in ops of one instruction each.
std::optional<Foreseen> foreseen(const Regions& regions, const std::vector<Region>& of_access, const ir::Graph& graph,
                                 const KernelOutline& outline);

}  // namespace ingot::codegen
