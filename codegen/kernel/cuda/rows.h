#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/cuda/batch.h"
#include "codegen/kernel/cuda/group_vectors.h"
#include "codegen/kernel/cuda/reduce.h"

// The threads of a row are adjacent: a thread handles `lanes` adjacent elements at a time, and the next thread the
// elements after them. If a row has few elements per thread, they are loaded once, before all phases, and stay
// register-cached. Those of a longer row are cached partly in shared memory. Expensive values that several phases need
// are cached, too.

namespace ingot::codegen {

/// Builds kernels in which adjacent threads share a row.
class Rows : public CudaReduce {
 public:
  Rows(const KernelContext& context, RowPart part)
      : CudaReduce(context, part),
        run_number_(assembly_.variable("r", {}, Level::Thread)),
        batch_(context, assembly_, memory_),
        group_vectors_(context, assembly_, memory_),
        first_places_(context, assembly_, memory_, first_row_),
        next_places_(context, assembly_, memory_, next_row_) {}

  // Space

  /// A linear access has a row's elements one after the other, however many axes the row has.
  bool has_linear() const override { return context_.layout.reduced_axes > 0; }
  ValueId linear(Level level) override { return index_of_lane(element_index_, level); }
  uint32_t first_inner_axis() const override { return row_axes_; }
  ValueId coordinate(uint32_t axis, Level level) override;
  ValueId base(uint32_t access) override;

  // AccessEmitter

  ValueId load(uint32_t access) override;

  /// The positions of adjacent elements differ only in their lowest bits, and are combined with a bitwise or (see
  /// `position` in elements.cpp).
  std::optional<ValueId> position(uint32_t access) override;

  /// A cached vector that is divided by a number of its row is divided as a whole, with one reciprocal
  /// (docs/performance.md: row-reciprocal).
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override;

 private:
  /// Whether the row is register-cached and so short that its indices have a cheaper division (docs/performance.md:
  /// heavy-formula).
  bool has_short_indices() const;
  bool is_vector(uint32_t access) const {
    return how(access).how == AccessSchedule::How::Vector || how(access).how == AccessSchedule::How::Shifted;
  }
  bool is_register_cached() const { return residency_.steps > 0 && !is_read_again_; }
  /// Whether an access is loaded once, before all phases, and cached. With fused column partials, accesses that do not
  /// vary from row to row are not cached.
  bool is_loaded_once(uint32_t access) const;
  /// The index of an element of a vector whose first element has index `first`.
  ValueId index_of_lane(ValueId first, Level level);
  /// The number of runs: a run has `lanes_` adjacent accumulators of each thread, and all runs together have all
  /// accumulators.
  uint32_t runs() const { return reduced_map(maps_).count(Scope::Serial); }

  // The position of a thread

  void find_row() override;

  /// As find_row, in a kernel that writes fused column partials: a thread computes all rows of a chunk, one after the
  /// other. Row r belongs to chunk r mod `column_chunks`.
  void find_first_row_of_chunk();
  Body in_row_loop(Body of_row) override;

  /// Stores the chunk's partial results for a thread's columns in one step.
  Body store_columns();

  /// As find_row, if a warp computes a batch of rows: the thread's row in the batch, or past the end of the domain, the
  /// domain's last row.
  void find_row_of_batch();
  ValueId store_condition() override;
  Body before_phases() override { return batch_.loads(); }
  Body after_phases() override { return batch_.stores(); }

  void find_element() override;

  /// Whether access groups are loaded for the elements of all runs before anything is computed. Past the row's last
  /// element, the last one is loaded again.
  bool loads_groups_ahead() const;

  // Elements

  /// The current element of an array with one vector, or one element, per step.
  ValueId element_of(SymbolId array);

  /// Turns a variable into an array with one value per step, partly in shared memory if the schedule has shared steps.
  SymbolId array_of_steps(SymbolId variable);

  /// The declarations of arrays, and the statements that fill them: per step (hoisted: under hoisted predicates), and
  /// per element of a step.
  struct Loads {
    Body declared, step, hoisted, lane;
  };

  /// The current element of an access that is loaded once, before the first phase, and cached.
  ValueId cached_load(uint32_t access);
  /// The item of an array for the current step.
  ValueId step_element(SymbolId array) { return assembly_.item(assembly_.read(array), assembly_.read(step_number_)); }
  /// Adds to `loads` the statements that load an access into an array.
  void load(uint32_t access, SymbolId array, Loads& loads);

  /// An array like `array`, for the elements of the next row, which are loaded while the current row is computed.
  SymbolId prefetched(uint32_t access, SymbolId array);

  /// Executes these loads for a row, if the row exists; `places` computes the row's pointers first.
  Statement load_row(ValueId row, Body places, Loads& loads);
  /// The loop that executes these loads.
  Statement loop_of(Loads& loads);

  /// Loads before phase 0 the accesses that a later phase is the first to need.
  void read_ahead();

  /// The element of an access, from a vector of its access group. The vector is loaded for all steps, or for all runs,
  /// before anything is computed; or, if masked, where it is used.
  ValueId group_element(uint32_t access, const GroupVector& group_vector);

  /// Stores values of access groups (by access): as vectors if all accesses of a group are among them.
  void store_groups(const std::map<uint32_t, ValueId>& values);

  /// The values of an access group, by their distance from the leader; nothing if another phase stores some of them.
  std::optional<std::map<uint32_t, ValueId>> whole_group(uint32_t leader, const std::map<uint32_t, ValueId>& values);

  /// Loads a vector of an access group.
  void load_group_vector(uint32_t leader, const GroupVector& group_vector);

  /// Loads the masked access groups that have hoisted predicates, before anything else of the job is computed.
  void load_hoisted(const Job& job);

  /// Whether the element with this index exists, without a check in the first steps; none if no step needs a check.
  ValueId is_in_row(ValueId index);
  /// `body`, only for an element that exists.
  Body guarded(ValueId index, Body body);

  /// Whether a thread processes all elements of one run before the next run (blocked accumulators), so that it need not
  /// hold the accumulators of all runs.
  bool uses_blocked_accumulators(const RowWork& work) const;

  /// The loop over a thread's steps; with blocked accumulators, over those of one run.
  Statement loop_over(Body step, ValueId run = {});
  /// Takes the loads of access groups, for all runs (loads_groups_ahead).
  Body loads_ahead();

  /// The number of accumulators for a thread's vector: with blocked accumulators, whose registers are scarce,
  /// one instead of `lanes_` if the order of accumulation does not matter.
  uint32_t lanes_of(const RowReduction& reduction) const;

  /// The index of the current element's accumulator. A reduction without order has at most `lanes_` of them.
  ValueId accumulator_index(const RowReduction& reduction);

  /// Accumulates an element into its column's accumulators (fused column partials). `value` points to the first of the
  /// reductions' operands, and is advanced past them.
  void fold_into_columns(const RowWork& work, std::vector<ValueId>::const_iterator& value);
  /// The index of the current element in its row.
  ValueId position_in_row() { return index_of_lane(element_index_, Level::Element); }

  // Phases

  /// Handles values that the job shares with other phases. Uses them if an earlier phase cached them; otherwise adds
  /// them to the roots, so that they are cached. Returns the nodes that were added.
  std::vector<ir::NodeId> cache_shared_values(Job& job);

  /// The array that caches a node's values. If no other node of this phase is cached, which might still read the
  /// inputs, an array of inputs that is no longer needed; otherwise a new array.
  SymbolId array_for_values(ir::NodeId node, bool is_alone, Body& declared);

  /// An array of inputs of the same type that is not needed once the node's values are cached; none if there is none.
  SymbolId reusable_input_array(ir::NodeId node);
  /// Whether the array already caches the values of a node.
  bool is_in_use(SymbolId array) const;

  /// Whether a later phase needs an access for more than the cached values; the values of node `cached` count as
  /// cached, too.
  bool is_read_later(uint32_t access, ir::NodeId cached);
  void emit_phase(uint32_t phase) override;

  /// Emits the loop over elements for this work. Values that a row's elements share are computed in `before`.
  void emit_phase(RowWork work, Body& before);
  Loop loop_over_runs(Body body);

  /// Uses the speculative sums if the row takes the arm that was guessed; otherwise computes the sums of the other arm.
  void emit_other_arms();

  /// Prepares for another traversal of the row, vector by vector. The path is rare, so short code matters more than
  /// speed.
  void read_again();
  /// An operation on bools.
  ValueId logical_op(ir::Op op, std::vector<ValueId> operands);

  /// Statements around a phase's steps: before all of them, and before and after the steps of each run.
  struct Around {
    Body before, before_run, after_run;
  };

  /// Accumulates an element, for which it returns the statements. `value` points to the first of the reductions'
  /// operands, and is advanced past them.
  Body fold(const RowWork& work, std::vector<ValueId>::const_iterator& value, ValueId run, Around& around);

  /// The loop that loads cached accesses: before the first phase, or, with blocked accumulators, before each run.
  Body load_cached();
  /// Combines the accumulators of a phase's reductions.
  void combine(const RowWork& work);
  /// Sets the results of a phase whose rows have no elements.
  void set_empty_results(const RowWork& work);

  // Split rows

  void store_partials() override;
  void combine_chunks() override;

  // Values computed once per row

  void store_rows() override;

  std::string element_name_;      ///< of element_index_
  SymbolId from_, run_number_;    ///< the variables of the loops over elements (the first of all runs), and over runs
  ValueId first_, loaded_index_;  ///< a thread's first element; the element to load (see loads_groups_ahead)
  Batch batch_;
  GroupVectors group_vectors_;
  SymbolId row_of_chunk_;                 ///< the variable of the loop over a chunk's rows (fused column partials)
  Body columns_declared_;                 ///< accumulators of the fused column partials
  Body first_row_, next_row_;             ///< the statements that compute the positions below
  RowPlaces first_places_, next_places_;  ///< of a chunk's first row, and of the row after the current one
  RowPlaces* loading_ = nullptr;          ///< of these two, the row for which loads are emitted; null: the current row
  ValueId next_number_;                   ///< the index of the row after the current one
  ValueId is_row_;                        ///< whether the row of a batch is in the domain
  uint32_t phase_ = 0;                    ///< the current phase
  bool in_other_arms_ = false;            ///< the statements are only for rows that take the other arm: emit_other_arms
  bool is_read_again_ = false;            ///< a row with blocked accumulators is traversed again; no phase follows
  std::map<uint32_t, SymbolId> arrays_;   ///< of accesses that are loaded once
  std::map<std::pair<ValueId, ValueId>, SymbolId> quotients_;  ///< vectors, by the operands of the division
  std::map<ir::NodeId, SymbolId> computed_;                    ///< of nodes that are computed once and cached
  Loads loads_, first_loads_, next_loads_;
};

}  // namespace ingot::codegen
