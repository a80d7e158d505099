#pragma once

#include <map>
#include <utility>
#include <vector>

#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// The variables for vectors of access groups. A vector that is loaded for several of a thread's elements in advance is
/// an array with one item per element; `number` below is the index of the element.
class GroupVectors {
 public:
  GroupVectors(const KernelContext& context, Assembly& assembly, Memory& memory)
      : context_(context), assembly_(assembly), memory_(memory) {}

  bool contains(uint32_t leader, const GroupVector& group_vector) const {
    return vectors_.contains({leader, group_vector.first});
  }
  /// A variable for a vector at this level; an array of `count` vectors if `count` is not 0.
  SymbolId declare(uint32_t leader, const GroupVector& group_vector, Level level, uint32_t count = 0);
  /// Adds to `declared` an array for each vector of the group; returns the statements that load the vectors for one
  /// element, whose index is taken at this level.
  Body load_all(uint32_t leader, uint32_t count, ValueId number, Level level, Body& declared);
  /// The element of an access, from its group's vector.
  ValueId element(uint32_t access, const GroupVector& group_vector, ValueId number);
  /// Statements that store the values of a group, by their distance from the leader, as vectors.
  Body stores(uint32_t leader, const std::map<uint32_t, ValueId>& values);
  /// Forgets vectors that are not arrays, unless `keeps_arrays` is false: then all.
  void forget(bool keeps_arrays);

 private:
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  std::map<std::pair<uint32_t, uint32_t>, SymbolId> vectors_;  ///< by the leader and GroupVector::first
};

}  // namespace ingot::codegen
