#include "codegen/kernel/cuda/group_vectors.h"

namespace ingot::codegen {

SymbolId GroupVectors::declare(uint32_t leader, const GroupVector& group_vector, Level level, uint32_t count) {
  const Type type{memory_.type_in_memory(leader), group_vector.width};
  const SymbolId vector = assembly_.variable(memory_.group_vector_name(leader, group_vector), type, level);
  if (count > 0) assembly_[vector].extents = {count};
  return vectors_[{leader, group_vector.first}] = vector;
}

Body GroupVectors::load_all(uint32_t leader, uint32_t count, ValueId number, Level level, Body& declared) {
  Body loads;
  for (const GroupVector& group_vector : context_.schedule.accesses[leader].group_vectors) {
    if (group_vector.width == 1) continue;
    const SymbolId vector = declare(leader, group_vector, Level::Thread, count);
    declared.push_back({Declare{vector}});
    loads.push_back(
        {Assign{assembly_.item(assembly_.read(vector), number), memory_.vector(leader, group_vector, level)}});
  }
  return loads;
}

ValueId GroupVectors::element(uint32_t access, const GroupVector& group_vector, ValueId number) {
  const AccessLayout& layout = context_.layout.accesses[access];
  const SymbolId symbol = vectors_.at({layout.leader, group_vector.first});
  ValueId vector = assembly_.read(symbol);
  if (!assembly_[symbol].extents.empty()) vector = assembly_.item(vector, number);
  return assembly_.lane(vector, assembly_.integer(layout.neighbour - group_vector.first));
}

Body GroupVectors::stores(uint32_t leader, const std::map<uint32_t, ValueId>& values) {
  Body stores;
  for (const GroupVector& group_vector : context_.schedule.accesses[leader].group_vectors) {
    std::vector<ValueId> members;
    for (uint32_t k = 0; k < group_vector.width; ++k) members.push_back(values.at(group_vector.first + k));
    stores.push_back(memory_.store_vector(leader, group_vector, std::move(members)));
  }
  return stores;
}

void GroupVectors::forget(bool keeps_arrays) {
  std::erase_if(vectors_, [&](const auto& entry) { return !keeps_arrays || assembly_[entry.second].extents.empty(); });
}

}  // namespace ingot::codegen
