#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/cpu/kernel.h"
#include "codegen/kernel/reduction.h"

namespace ingot::codegen {

/// The common part of CPU kernels that reduce. A row is traversed phase by phase. Each element is accumulated, the
/// accumulators of a chunk of the row are combined, and then the results of the chunks. If rows are split, a unit
/// computes one chunk of a row or of some adjacent rows, and a second function combines the chunks' results. In derived
/// classes, the elements of a vector are adjacent elements of one row, or corresponding elements of adjacent rows.
class CpuReduce : public CpuKernel {
 public:
  Kernel build() override;

  // Space

  ValueId linear(Level) override { return row_number_; }
  bool has_linear() const override { return false; }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.first_axis(access); }
  uint32_t first_inner_axis() const override { return row_axes_; }

 protected:
  /// `lane`: the name of the variable that is the index of one of a unit's adjacent rows; empty if a unit has one row.
  CpuReduce(const KernelContext& context, RowPart part, std::string_view lane = {});

  /// The index of an element in its row.
  virtual ValueId element_index() = 0;
  /// Sets row_number_ (the first one, if a unit has several rows), chunk_ if rows are split, and the launch's grid.
  virtual void find_row() = 0;
  /// The loop over the units of a call; `body` computes one unit.
  virtual Body units(Body body) = 0;
  /// Emits, at the end of `block`, a loop over elements [from, to) of the rows with the statements in `element_`.
  virtual void loop_over(Body& block, ValueId from, ValueId to) = 0;
  /// Emits `of_row` for each row of the unit, at the end of `block`.
  virtual void for_each_row(Body& block, Body of_row) = 0;
  /// Stores an element, in the loop over elements.
  virtual void store(uint32_t access, ValueId value);
  /// In a loop over elements that continues past the row's end: whether an element is in the row. Otherwise none.
  virtual ValueId valid() { return {}; }
  /// Prefetches, in the loop over elements, the elements of this access, which will be written later.
  virtual void prefetch_access(uint32_t) {}
  /// The index of an element's accumulator, in the loop over elements.
  virtual ValueId accumulator_index() = 0;
  /// The index of a row's partial result among those of all chunks.
  virtual ValueId index_of_partial(ValueId chunk) = 0;

  bool has_blocked_accumulators() const { return context_.schedule.residency.has_blocked_accumulators; }
  /// Whether a row is not a single axis. Its elements along the innermost axis are then called a line.
  bool row_has_several_axes() const { return context_.layout.reduced_axes > 1; }
  /// The number of chunks of a row.
  ValueId chunks();
  /// Moves the statements collected in `row_` so far to the body of the loop over units.
  void flush_row();

  RowPart part_;
  uint32_t lanes_;          ///< adjacent rows of a unit
  uint32_t accumulators_;   ///< of a row, or of a chunk of it
  uint32_t chunk_length_;   ///< elements of a chunk; 0: a row is one chunk
  SymbolId lane_;           ///< the index of a row among the unit's adjacent rows; none if a unit has one row
  Body row_;                ///< statements before the loops over elements, until `flush_row` moves them
  Body accumulator_begin_;  ///< with blocked accumulators: the statements before the elements of each one
  RowReductions reductions_;
  RowPlaces places_;
  uint32_t row_axes_;           ///< number of axes that are not reduced; they come first
  SymbolId unit_;               ///< the variable of the loop over units
  ValueId row_number_, chunk_;  ///< the indices of the row, and of the chunk in its row

 private:
  AccumulatorPlace accumulator_place(ValueId number) { return {number, lane_ ? assembly_.read(lane_) : ValueId{}}; }
  /// The result of the current row; `result` is an array if there are several adjacent rows.
  ValueId row_value(SymbolId result);
  /// Emits the loop over elements of a phase.
  void emit_phase(uint32_t phase);
  /// Sets the results of a phase whose rows have no elements.
  void set_empty_results(const RowWork& work);
  /// Handles values that the job shares with other phases. Uses them if an earlier phase cached them; otherwise adds
  /// them to the roots, so that they are cached. Returns the nodes that were added.
  std::vector<ir::NodeId> cache_shared_values(Job& job);
  /// Computes the values that the elements of a row share, ahead of the loop over elements, and makes them available
  /// to the job: arrays with an element per adjacent row. If a unit has one row, they are ahead of the loop anyway.
  void compute_row_values(Job& job);
  /// The current element of an array of cached values.
  ValueId cached_element(SymbolId array);
  /// Reduces the chunks of a long row one after the other. `chunk_reductions` have the results of one chunk; `declared`
  /// declares their accumulators.
  void reduce_chunks_in_turn(const std::vector<RowReduction*>& reductions, std::vector<RowReduction>& chunk_reductions,
                             Body declared);
  /// Emits a loop over the chunks of a row.
  void loop_over_chunks(SymbolId chunk, Body inside);
  /// The accumulator to which the result of a chunk belongs.
  AccumulatorPlace accumulator_of_chunk(ValueId chunk);
  /// Stores the partial results of a chunk.
  void store_partials();
  /// Combines the partial results of all chunks.
  void combine_chunks();
  /// Stores the values that are computed once per row.
  void store_rows();
  /// The end of the chunk that starts at `from`.
  ValueId end_of_chunk(ValueId from);

  Body body_;                                 ///< of the loop over units
  std::map<ir::NodeId, SymbolId> computed_;   ///< arrays of values that are cached from phase to phase
  std::map<ir::NodeId, ValueId> row_values_;  ///< see compute_row_values
};

Kernel build_cpu_rows(const KernelContext& context, RowPart part);
Kernel build_cpu_columns(const KernelContext& context, RowPart part);

}  // namespace ingot::codegen
