#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/cuda/thread.h"
#include "codegen/kernel/reduction.h"

namespace ingot::codegen {

/// The common part of CUDA kernels that reduce. The threads of a row traverse its elements together, phase by phase.
/// Their accumulators are combined so that all of them know the row's results in the next phase. Derived classes
/// distribute rows and elements over threads.
class CudaReduce : public Space, public AccessEmitter {
 public:
  Kernel build();

  // Space

  ValueId linear(Level) override { return row_number_; }
  bool has_linear() const override { return false; }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.first_axis(access); }
  Level level_of_names() const override { return Level::Thread; }
  std::string suffix() override { return lanes_ > 1 ? "_" + assembly_[lane_].name : "_i"; }

  // AccessEmitter

  std::vector<ValueId> wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                    ValueId entry_condition) override;
  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    return memory_.load(access, Level::Element, wrapped);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override;

 protected:
  CudaReduce(const KernelContext& context, RowPart part);

  /// Sets row_number_ and thread_, and emits their computation at the end of the kernel's indices.
  virtual void find_row() = 0;
  /// Sets element_index_: the index, in the row, of the first element that the thread computes in the current step.
  virtual void find_element() = 0;
  /// Emits the loop over elements of a phase.
  virtual void emit_phase(uint32_t phase) = 0;
  /// Stores the partial results of a chunk.
  virtual void store_partials() = 0;
  /// Combines the partial results of all chunks.
  virtual void combine_chunks() = 0;
  /// Stores the values that are computed once per row.
  virtual void store_rows() = 0;
  /// The condition under which this thread stores its row's values; none if it always does.
  virtual ValueId store_condition();
  /// Statements before and after all phases.
  virtual Body before_phases() { return {}; }
  virtual Body after_phases() { return {}; }
  /// The statements of all rows of a thread, from those of one row: for example, in a loop over rows.
  virtual Body in_row_loop(Body of_row) { return of_row; }

  const AccessSchedule& how(uint32_t access) const { return context_.schedule.accesses[access]; }

  ValueId integer(int64_t number) { return assembly_.integer(number); }
  ValueId times(ValueId a, int64_t b) { return b == 1 ? a : assembly_.index(IndexOp::Mul, a, integer(b)); }
  ValueId plus(ValueId a, ValueId b) { return assembly_.index(IndexOp::Add, a, b); }
  /// Gives an index a unique name, computes it at the end of this block, and gives it the kernel's index type.
  ValueId let(Body& block, ValueId value, std::string_view preferred);
  /// Gives a value a name, which must be claimed, and a type. The caller emits the Let.
  ValueId named(ValueId value, const std::string& name, ir::DType dtype);
  ValueId named(ValueId index, const std::string& name) { return named(index, name, context_.index_dtype()); }

  /// Sets the launch: a block has `rows` rows.
  void launch(uint32_t rows);

  /// A variable for the vector of `lanes_` elements of an access that a thread computes together; and the load of this
  /// vector.
  SymbolId vector_of(uint32_t access);
  ValueId vector_at(uint32_t access);
  /// Stores a value in the current step. If it is stored as part of a vector, the store of the vector is added to
  /// `after`.
  void store(uint32_t access, ValueId value, Body& after);
  /// The statements for one element of a step.
  Body& element() { return lanes_ > 1 ? element_ : step_; }
  /// Takes the statements of the step, followed by `after`, and clears them.
  Body take_step(Body after);
  Loop over_lanes(Body body) { return {Loop::Kind::Unrolled, lane_, integer(0), integer(lanes_), std::move(body)}; }

  /// If the blocks of a cluster share a row: arrives at the cluster's barrier, for which the end of the kernel waits.
  void arrive();

  /// Moves the statements collected in `row_` so far to `body_`.
  void flush_row();

  const KernelContext& context_;
  RowPart part_;
  const LoopMaps& maps_;  ///< of this launch
  const Residency& residency_;
  uint32_t lanes_;          ///< elements of a thread's vector
  uint32_t cluster_;        ///< blocks of a cluster, which share a row
  uint32_t threads_;        ///< of a row, or of a chunk of it, in all blocks of the cluster
  uint32_t chunks_;         ///< of a row
  uint32_t accumulators_;   ///< of a row; in the finalize step, the chunks
  uint32_t column_chunks_;  ///< see Schedule::column_chunks
  Assembly assembly_;
  Memory memory_;
  SymbolId lane_;         ///< an element's index in its vector
  SymbolId step_number_;  ///< the index of a thread's step, of its run, or of an accumulator in its group
  RowReductions reductions_;
  Body row_;  ///< statements that run once per row, until `flush_row` moves them
  RowPlaces places_;
  uint32_t row_axes_;
  ValueId thread_, chunk_;              ///< the indices of the thread among those of its row, and of the chunk
  ValueId row_number_, element_index_;  ///< the indices of the row, and of an element in the row
  /// Whether the elements of the step exist, if threads compute past the row's end; otherwise none.
  ValueId is_element_;
  std::map<uint32_t, SymbolId> vectors_;  ///< the vectors of the current step, by access
  Body step_, element_;                   ///< statements of a step, and of an element of its vector
  Body body_;                             ///< all phases
  Body row_stores_;                       ///< stores that run once per row
};

/// Rows whose elements are mostly adjacent in memory: adjacent threads share a row.
std::vector<Kernel> build_cuda_rows(const KernelContext& context);
/// Rows of which corresponding elements are adjacent in memory: adjacent threads have adjacent rows.
std::vector<Kernel> build_cuda_columns(const KernelContext& context);

}  // namespace ingot::codegen
