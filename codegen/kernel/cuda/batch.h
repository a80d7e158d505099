#pragma once

#include <functional>
#include <map>

#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// Copies short rows, which may be unaligned, through shared memory. The rows of a warp are consecutive in memory, and
/// the first one starts at a vector boundary. The warp therefore copies them to shared memory and back by vectors. A
/// row of the batch past the end of the domain is computed from undefined contents and not copied back.
class Batch {
 public:
  Batch(const KernelContext& context, Assembly& assembly, Memory& memory)
      : context_(context), assembly_(assembly), memory_(memory) {}

  /// Sets the position of the batch: `warp` is the warp's index in its block; `first` and `count` are the linear index
  /// of the batch's first element and the number of the batch's elements; `row_offset` is the distance from `first` to
  /// the first element of this thread's row.
  void set_position(ValueId warp, ValueId first, ValueId count, ValueId row_offset) {
    warp_ = warp, first_ = first, count_ = count, row_offset_ = row_offset;
  }

  /// The pointer to this thread's row of a batched access, in shared memory; emits the copy of the batch, too. A store
  /// reuses the shared memory of a load of the same type if `is_done_with` holds for that load: its elements are in
  /// registers by then.
  ValueId pointer_to_row(uint32_t access, const std::function<bool(uint32_t load)>& is_done_with);

  /// The statements before and after the computation of the rows: copies to and from shared memory.
  Body loads();
  Body stores();

 private:
  /// The shared memory of an access.
  struct SharedRows {
    SymbolId rows;            ///< the array with the batches of all warps
    ValueId row;              ///< the pointer to this thread's row
    bool is_written = false;  ///< a store uses it
  };

  /// Declares the shared memory of an access.
  SharedRows declare_rows(uint32_t access);
  /// The pointer to the warp's part of the shared memory.
  ValueId rows_of_warp(SymbolId rows);
  /// The pointer to the batch in the tensor.
  ValueId batch_in_tensor(uint32_t access);

  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  ValueId warp_, first_, count_, row_offset_;
  std::map<uint32_t, SharedRows> places_;  ///< by access
  Body declared_, loads_, pointers_, stores_;
};

}  // namespace ingot::codegen
