#include "codegen/kernel/cuda/batch.h"

#include <algorithm>
#include <iterator>

#include "codegen/schedule/policy.h"

namespace ingot::codegen {

ValueId Batch::pointer_to_row(uint32_t access, const std::function<bool(uint32_t)>& is_done_with) {
  const auto entry = places_.find(access);
  if (entry != places_.end()) return entry->second.row;
  const bool is_store = context_.outline.accesses[access].kind == AccessUse::Kind::Store;
  const auto is_free = [&](const auto& other) {
    const auto& [load, place] = other;
    return !place.is_written && is_done_with(load) && memory_.type_in_memory(load) == memory_.type_in_memory(access);
  };
  const auto reusable = is_store ? std::ranges::find_if(places_, is_free) : places_.end();
  SharedRows place = reusable != places_.end() ? reusable->second : declare_rows(access);
  if (is_store) {
    place.is_written = true;
    if (reusable != places_.end()) reusable->second.is_written = true;
    stores_.push_back({Call{Call::Function::StoreRows, {batch_in_tensor(access), rows_of_warp(place.rows), count_}}});
  } else {
    loads_.push_back(
        {Call{Call::Function::LoadRows, {rows_of_warp(place.rows), batch_in_tensor(access), count_}, place.rows}});
  }
  return places_.emplace(access, place).first->second.row;
}

Batch::SharedRows Batch::declare_rows(uint32_t access) {
  const std::string name = assembly_[memory_.pointer(access)].name;
  const SymbolId rows = assembly_.variable(name + "_rows", {memory_.type_in_memory(access)}, Level::Kernel);
  const Residency& residency = context_.schedule.residency;
  const uint32_t threads = context_.schedule.reduced().count(Scope::Block);
  Symbol& symbol = assembly_[rows];
  symbol.is_shared = true;
  symbol.alignment = kVectorBytes;
  // The number of warps in a block, and the elements of a warp's batch, with each row padded to whole steps.
  symbol.extents = {context_.schedule.threads() / (residency.batch * threads),
                    residency.batch * residency.steps * threads};
  declared_.push_back({Declare{rows}});
  const ValueId row = assembly_.index(IndexOp::Add, rows_of_warp(rows), row_offset_);
  return {rows, assembly_.let(pointers_, row, assembly_.claim(name + "_row"))};
}

ValueId Batch::rows_of_warp(SymbolId rows) {
  return assembly_.add({.kind = Value::Kind::Element,
                        .type = {.dtype = assembly_[rows].type.dtype, .is_pointer = true},
                        .operands = {assembly_.read(rows), warp_},
                        .naming = Value::Naming::Inline});
}

ValueId Batch::batch_in_tensor(uint32_t access) {
  return assembly_.index(IndexOp::Add, assembly_.read(memory_.pointer(access)), first_);
}

Body Batch::loads() {
  Body body = std::move(declared_);
  append(body, loads_);
  if (!loads_.empty()) body.push_back({Barrier{Barrier::Kind::Warp}});
  append(body, pointers_);
  return body;
}

Body Batch::stores() {
  if (stores_.empty()) return {};
  Body body = {{Barrier{Barrier::Kind::Warp}}};
  append(body, stores_);
  return body;
}

}  // namespace ingot::codegen
