#pragma once

#include <functional>
#include <map>

#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// Short rows, that begin anywhere. Those of a warp lie in memory one behind the other, and the first begins where a
/// vector does: so they are taken into shared memory, and left from there, by vectors. A row of the batch that is none
/// of the domain's is computed, of whatever stands there, and not left.
class Batch {
 public:
  Batch(const KernelContext& context, Assembly& assembly, Memory& memory)
      : context_(context), assembly_(assembly), memory_(memory) {}

  /// Where the batch is: the warp's number in its block; the batch's first element, of what is linear, and how many
  /// follow; and of those the first of this thread's row.
  void set_place(ValueId warp, ValueId first, ValueId count, ValueId own) {
    warp_ = warp, first_ = first, count_ = count, own_ = own;
  }

  /// The pointer to this thread's row of an access that is batched. A store has the memory of a load of its type that
  /// `is_done_with`: what is left to do finds it in registers.
  ValueId row(uint32_t access, const std::function<bool(uint32_t load)>& is_done_with);

  /// What stands ahead of everything that is done with the rows, and behind it.
  Body take();
  Body leave();

 private:
  struct Place {
    SymbolId rows;
    ValueId own;
    bool is_written = false;
  };

  Place place_of_rows(uint32_t access);
  /// A warp's part of the memory, and the batch in the tensor.
  ValueId of_warp(SymbolId rows);
  ValueId in_tensor(uint32_t access);

  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  ValueId warp_, first_, count_, own_;
  std::map<uint32_t, Place> places_;
  Body declared_, taken_, pointers_, left_;
};

}  // namespace ingot::codegen
