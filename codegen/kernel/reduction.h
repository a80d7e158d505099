#pragma once

#include <map>
#include <vector>

#include "codegen/kernel/computation.h"

// The target-independent part of kernels that reduce: the position of a row, its accumulators, how an element is
// accumulated, and the names of a row's results.

namespace ingot::codegen {

/// The part of a reduction that a kernel computes: all of it; or, if rows are split, the partial results of chunks
/// (`Chunks`), or the finalize step that combines them (`Finalize`).
enum class RowPart : uint8_t { Whole, Chunks, Finalize };

/// One reduction of a kernel: its accumulator arrays and its results.
struct RowReduction {
  ir::NodeId node;
  ir::ReduceKind kind;
  uint32_t phase = 0;
  bool is_speculative = false;        ///< accumulated in the phase before its own: the sum of the first arm of a
                                      ///< `where`
  uint32_t first_partial = 0;         ///< the index of its first buffer in LaunchInfo::partials
  std::vector<ir::DType> types = {};  ///< of its values: one, or for ArgMax and ArgMin two, the value and its index
  std::vector<SymbolId> accumulators = {};  ///< an accumulator array per value
  std::vector<SymbolId> results = {};       ///< a variable per value
  // On CUDA, if a thread does not hold all its accumulators at once, `accumulators` has those of one group, or run.
  SymbolId levels = {};  ///< columns.cpp, which computes adjacent accumulators of a thread group by group: the results
                         ///< of merged groups, one per bit of a binary counter over the groups; otherwise none
  SymbolId runs = {};    ///< rows.h: the results of a thread's accumulators in each run, one per run; otherwise none

  /// Whether the result depends on the order in which elements are accumulated.
  bool has_order() const;
};

/// Computes the position of a row from the row's index: its coordinates along the row axes (the axes that are not
/// reduced), and the pointers to its first element.
class RowPlaces {
 public:
  /// Emits position computations at the end of `block`. A row's pointer covers all row axes but the last `free_axes`.
  /// The free axes are part of an element's index instead, because the rows of a vector differ along them.
  RowPlaces(const KernelContext& context, Assembly& assembly, Memory& memory, Body& block, uint32_t free_axes = 0)
      : context_(context), assembly_(assembly), memory_(memory), block_(block), free_axes_(free_axes) {}

  void set_row(ValueId number) { number_ = number; }

  /// The number of row axes.
  uint32_t row_axes() const { return context_.rank() - context_.layout.reduced_axes; }
  /// Whether an access varies along a row.
  bool varies_in_row(uint32_t access) const;
  ValueId extent(uint32_t axis) { return assembly_.read(memory_.extent(axis)); }
  /// The coordinate along a row axis.
  ValueId coordinate(uint32_t axis);
  /// The pointer to a row's first element; for an access that does not vary within a row, the tensor's pointer.
  ValueId base(uint32_t access);
  /// The first axis that `base` does not cover: this axis and the later ones are part of an element's index.
  uint32_t first_axis(uint32_t access) const { return varies_in_row(access) ? row_axes() - free_axes_ : 0; }
  /// The product of the extents of the axes [first, last); 1 if there are none.
  ValueId elements(uint32_t first, uint32_t last);
  /// The number of elements of a row.
  ValueId length() { return elements(row_axes(), context_.rank()); }

 private:
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  Body& block_;
  uint32_t free_axes_;
  ValueId number_;
  std::map<uint32_t, ValueId> coordinates_, pointers_;
};

/// The work of a phase, or of the rows after all phases. The roots of the job are, in order: the operands of
/// `reductions`, the operands of `column_reductions` (fused column partials), and the values that `stores` (access
/// numbers) write.
struct RowWork {
  Job job;
  std::vector<RowReduction*> reductions = {}, column_reductions = {};
  std::vector<uint32_t> stores = {};
};

/// The place of an accumulator: its index in the array; and, if the elements of the array have one accumulator for each
/// of some adjacent rows or columns, the index of the row or column among these (`lane`).
struct AccumulatorPlace {
  ValueId number, lane = {};
};

/// The reductions of a kernel: declares and combines their accumulators, and lists the work of each phase.
class RowReductions {
 public:
  /// `rows`: the number of adjacent rows that a thread, or on the CPU a unit, computes together. If there are several,
  /// the variable `lane` is the index of one of them.
  RowReductions(const KernelContext& context, Assembly& assembly, Memory& memory, uint32_t rows = 1,
                SymbolId lane = {});

  std::vector<RowReduction>& all() { return reductions_; }
  /// The reductions of columns whose partial results this kernel also computes (fused column partials).
  std::vector<RowReduction>& column_reductions() { return column_reductions_; }
  /// A variable for the result of a reduction; with a value for each of several adjacent rows.
  SymbolId result(std::string_view preferred, ir::DType dtype);
  /// The element types of the buffers of partial results.
  std::vector<ir::DType> partials() const;
  uint32_t phases() const;

  /// Declares arrays of `accumulators` accumulators at the end of `block`, and initialises them with the reduction's
  /// identity in a loop of this kind.
  void declare(Body& block, RowReduction& reduction, uint32_t accumulators, Loop::Kind loop);
  /// The variable of loops over accumulators.
  SymbolId accumulator_counter();
  /// As `declare`, in two steps: the arrays alone, and the initialisation of one accumulator.
  void declare_arrays(Body& block, RowReduction& reduction, uint32_t accumulators);
  void clear_accumulator(Body& block, const RowReduction& reduction, ValueId number, Loop::Kind loop);
  /// Declares accumulators for a reduction of columns: `steps` vectors of `lanes` accumulators, one per column.
  void declare_columns(Body& block, RowReduction& reduction, uint32_t steps, uint32_t lanes);
  /// Whether the reduction takes the two factors of the product that it sums. On CUDA a product that is summed is not
  /// rounded, as in eager's kernels: one fused multiply-add.
  bool takes_factors(const RowReduction& reduction) const;
  /// Accumulates an element (a value per component of the reduction, or two factors) into an accumulator; if there is a
  /// condition, only if it holds.
  void fold(Body& block, const RowReduction& reduction, AccumulatorPlace place, const std::vector<ValueId>& operands,
            ValueId condition = {});
  /// Declares the array `levels`, a binary counter over the groups of accumulators, to which `merge_group` adds a
  /// group. `groups`, a power of two, is the number of groups.
  void declare_levels(Body& block, RowReduction& reduction, uint32_t groups);
  void merge_group(Body& block, const RowReduction& reduction, ValueId group);
  /// Declares an array for the results of `runs` runs of adjacent accumulators, which `combine_run` computes.
  void declare_runs(Body& block, RowReduction& reduction, uint32_t runs);
  void combine_run(Body& block, const RowReduction& reduction, ValueId run);
  /// As `declare_runs`, in shared memory, for a loop that is not unrolled.
  void declare_shared_runs(Body& block, RowReduction& reduction, uint32_t runs, uint32_t threads);
  /// Combines a row's accumulators; from here on the row's results are known. `lanes`: adjacent accumulators of a
  /// thread in each run; `threads`: of the row, in each of the `blocks` of a cluster; `spacing`: the distance between
  /// these threads (see Combine).
  void combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads, uint32_t spacing = 1,
               uint32_t blocks = 1);

  /// The work of a phase. A speculative reduction is part of the phase before its own, and sums only the first arm.
  RowWork work_of_phase(uint32_t phase);
  /// The work of the speculative reductions' other arms, as separate reductions, which it adds to `others`.
  RowWork work_of_other_arms(std::vector<RowReduction>& others);
  /// The job that computes, for each speculative reduction, the condition of its first arm.
  Job speculative_conditions() const;
  /// The nodes of the other arms.
  std::vector<ir::NodeId> other_arms() const;
  /// The speculative reductions.
  std::vector<RowReduction*> speculative();
  /// The work of the rows after all phases: output blocks with one element per row, and row values for later kernels.
  RowWork work_of_rows();

  /// An element of a buffer of partial results. `number`: the buffer's index in LaunchInfo::partials; `is_written`: the
  /// element is assigned to.
  ValueId partial(uint32_t number, ValueId index, bool is_written);
  /// The pointer to the first element of this buffer.
  SymbolId partials_pointer(uint32_t number, bool is_written);

  /// The stores of reductions that later kernels read, without row values: the access and the value of each.
  std::vector<std::pair<uint32_t, ValueId>> values_for_later_kernels();

 private:
  /// The access number of the first store to a workspace.
  uint32_t first_workspace_store() const;
  /// Adds the output blocks that satisfy `is_wanted` to the work.
  template <typename IsWanted>
  void add_output_blocks(RowWork& work, IsWanted is_wanted) const;
  /// A loop over accumulators that sets each to the reduction's identity.
  void clear(Body& block, const RowReduction& reduction, uint32_t accumulators, Loop::Kind kind);
  RowReduction reduction_of(const KernelOutline::ReductionRef& ref, uint32_t first_partial) const;
  /// Adds the operand of a reduction, or its two factors, to the roots of the work.
  void add_root(RowWork& work, const RowReduction& reduction) const;
  /// An accumulator of the array.
  ValueId element(SymbolId array, AccumulatorPlace place);
  SymbolId result_of(ir::NodeId node, uint32_t value, ir::DType dtype);
  /// The type of a variable with a value per row. On CUDA, the values of several rows form a vector; on the CPU, an
  /// array, whose extent `with_extents` adds.
  Type type_per_row(ir::DType dtype) const { return {dtype, context_.cuda() ? rows_ : 1}; }
  SymbolId with_extents(SymbolId array, std::vector<uint32_t> extents);

  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  uint32_t rows_;
  SymbolId lane_;
  std::vector<RowReduction> reductions_, column_reductions_;
  std::map<ReducedValue, ValueId> known_;  ///< the results
  uint32_t slots_ = 0;                     ///< the number of Combine statements so far
  std::string counter_name_;               ///< of the variable of loops over accumulators
};

}  // namespace ingot::codegen
