#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/cuda/batch.h"
#include "codegen/kernel/cuda/reduce.h"

// The threads of a row are neighbours: a thread takes `lanes` neighbours at a time, those of the next thread follow.
// Where a row has few elements for its threads they are read once, before all phases, and stay in registers, those of a
// longer row in shared memory too; so does what one phase has computed of them at some cost and a later one needs.

namespace ingot::codegen {

class Rows : public CudaReduce {
 public:
  Rows(const KernelContext& context, RowPart part)
      : CudaReduce(context, part, part == RowPart::Rest ? 1 : context.schedule.lanes,
                   part == RowPart::Rest ? std::min(context.schedule.rows.pieces, 1024u)
                                         : context.schedule.rows.threads * context.schedule.rows.cluster,
                   0),
        run_number_(assembly_.variable("r", {}, Level::Thread)),
        batch_(context, assembly_, memory_),
        first_places_(context, assembly_, memory_, first_row_),
        next_places_(context, assembly_, memory_, next_row_) {}

  // Space

  /// What is linear has an element of a row behind the other, whatever axes it has.
  bool has_linear() const override { return context_.layout.reduced_axes > 0; }
  ValueId linear(Level level) override { return of_lane(element_index_, level); }
  uint32_t first_inner_axis() const override { return kept_; }
  ValueId coordinate(uint32_t axis, Level level) override;
  ValueId base(uint32_t access) override;

  // Access

  ValueId load(uint32_t access) override;

  /// Of lanes that are neighbours the numbers differ in their last bits alone, and it is said so (Cuda::position).
  std::optional<ValueId> position(uint32_t access) override;

  /// A vector that is kept, by a number that its row shares, is divided at once.
  std::optional<ValueId> quotient(ValueId value, ValueId divisor) override;

 private:
  /// Whether a thread that has several elements of a row divides their indices by one reciprocal.
  bool has_short_indices() const;
  bool is_vector(uint32_t access) const {
    return how(access).how == AccessSchedule::How::Vector || how(access).how == AccessSchedule::How::Shifted;
  }
  bool is_resident() const { return rows_.steps > 0 && !is_read_again_; }
  /// Whether an access is read once, and kept. Where rows follow one another, what they share is not.
  bool stays(uint32_t access) const;
  /// The index of a lane's element, if that of the first is `first`.
  ValueId of_lane(ValueId first, Level level);
  /// Runs of neighbours, one a thread, that together are all classes.
  uint32_t runs() const { return std::max(1u, rows_.classes / rows_.pieces / (threads_ * lanes_)); }

  // Where a thread is

  void find_row() override;

  /// The first of a thread's rows, of which each piece has one in turn.
  void find_piece_of_rows();
  Body of_all_rows(Body of_row) override;

  /// What a piece's rows come to, of the columns of one step.
  Body leave_columns();

  /// A row of a warp's batch, or else the domain's last one.
  void find_row_of_batch();
  ValueId stores_row() override;
  Body ahead() override { return batch_.take(); }
  Body behind() override { return batch_.leave(); }

  /// The first of a thread's elements in one step of its loop.
  void find_element() override;

  /// Whether the groups of all runs are loaded before anything is computed of them: behind the last element stands the
  /// last again.
  bool loads_groups_ahead() const;

  // Elements

  /// Of an array that has a vector, or an element, for each step: the one of this step and lane.
  ValueId element_of(SymbolId array);

  /// Makes an array of a variable: one for each step.
  SymbolId array_of_steps(SymbolId variable);

  /// What fills arrays: of each step, and of each lane of one.
  struct Loads {
    Body declared, step, foreseen, lane;
  };

  /// What is read once, before the first phase, and kept.
  ValueId resident(uint32_t access);
  ValueId of_step(SymbolId array) { return assembly_.item(assembly_.read(array), assembly_.read(step_number_)); }
  void load(uint32_t access, SymbolId array, Loads& loads);

  /// An array like this one, that has the next row by the time that its turn comes.
  SymbolId prefetched(uint32_t access, SymbolId array);

  /// A row's elements, if there is that row; `places` stands ahead of them.
  Statement load_row(ValueId row, Body places, Loads& loads);
  Statement loop_of(Loads& loads);

  /// What a later phase is the first to need.
  void read_ahead();

  /// An element of a vector of neighbours: of all steps, or runs, before anything is computed, or where a masked one is
  /// needed.
  ValueId of_chunk(uint32_t access, const Chunk& chunk);

  /// What neighbours are set to, by accesses: as vectors, where all of a group are.
  void store_groups(const std::map<uint32_t, ValueId>& values);

  /// By distances from the leader; none where some of the group are another phase's.
  std::optional<std::map<uint32_t, ValueId>> whole_group(uint32_t leader, const std::map<uint32_t, ValueId>& values);
  void store_chunk(uint32_t leader, const Chunk& chunk, const std::map<uint32_t, ValueId>& group);

  /// Whether a group's vectors are there in later phases.
  bool is_kept(SymbolId vector) const { return is_resident() && !assembly_[vector].extents.empty(); }
  SymbolId load_chunk(uint32_t leader, const Chunk& chunk);

  /// What of masked groups is known to be needed, before anything is computed of the job.
  void foresee(const Job& job);
  /// A group's vectors of all runs; gives the statements that fill those of one.
  Body foreseen_vectors(uint32_t leader);

  /// What is done if there is an element: the first steps need no guard.
  Body guarded(ValueId is_element, Body body);

  /// Whether a thread goes through a run's elements before the next one's, so that it need not hold the classes of all
  /// runs.
  bool goes_by_runs(const RowWork& work) const;

  /// The loop over a thread's elements.
  Statement loop_over(Body step, ValueId run = {});
  Body loads_ahead();

  /// How many classes a thread has of its lanes: by runs, where registers are scarce, one if no order changes it.
  uint32_t lanes_of(const RowReduction& reduction) const;

  /// Of the element in a thread's arrays. What no order changes has no more of them than lanes.
  ValueId class_number(const RowReduction& reduction);

  /// Takes what was found of an element, `value` on, into the classes of its column.
  void fold_into_columns(const RowWork& work, std::vector<ValueId>::const_iterator& value);
  ValueId position_in_row() { return of_lane(element_index_, Level::Element); }

  // Phases

  /// What the job shares with other phases: known from an earlier one, or else added to its roots, to be kept. Gives
  /// the nodes that are added.
  std::vector<ir::NodeId> keep(Job& job);

  /// Where the values of a node are kept: in the place of what was read, if no other node of this phase is kept, that
  /// may read it still; or else in an array of their own.
  SymbolId place_of_values(ir::NodeId node, bool is_alone, Body& declared);

  /// What was read of the same type, and is not needed once a node's values are kept; none where there is nothing.
  SymbolId place_of_input(ir::NodeId node);
  bool is_taken(SymbolId array) const;

  /// Whether a phase behind this one needs an access for more than what is kept by then, the values of `kept` among it.
  bool is_read_later(uint32_t access, ir::NodeId kept);
  void go_through(uint32_t phase) override;

  /// What the row's elements share stands in `ahead`.
  void go_through(RowWork work, Body& ahead);
  Loop loop_over_runs(Body body);

  /// Sums that were taken early are right where the row takes that arm; else they are taken once more, of the other.
  void go_through_other_arms();

  /// A run's elements one vector after another, in few instructions: they stand beside those that most rows take.
  void read_again();
  ValueId logical(ir::Op op, std::vector<ValueId> operands);

  /// What stands around a phase's steps: ahead of them all, and ahead of those of each run and behind them.
  struct Around {
    Body ahead, of_run, behind_run;
  };

  /// Takes what was found of an element, `value` on, into its classes.
  Body fold(const RowWork& work, std::vector<ValueId>::const_iterator& value, ValueId run, Around& around);

  /// The loop that reads what is kept: before the first phase, or before each run is gone through.
  Body load_resident();
  void combine(const RowWork& work);
  void find_nothing(const RowWork& work);

  // Split rows

  void leave_states() override;
  void combine_pieces() override;

  // What there is one of a row

  void store_rows() override;

  std::string element_name_;
  SymbolId from_, run_number_;
  ValueId first_, loaded_index_;
  Batch batch_;
  SymbolId row_of_piece_;
  Body columns_declared_;  ///< what is found of columns in passing
  Body first_row_, next_row_;
  RowPlaces first_places_, next_places_;  ///< of a piece's first row, and of the one behind the row that is computed
  RowPlaces* loading_ = nullptr;          ///< the one of these that is loaded
  ValueId next_number_;
  ValueId is_row_;  ///< whether a batch's row is one of the domain
  uint32_t phase_ = 0;
  bool in_other_arms_ = false;
  bool is_read_again_ = false;           ///< what is gone through by runs, once more; no phase follows
  std::map<uint32_t, SymbolId> arrays_;  ///< of what is read once
  std::map<std::pair<uint32_t, uint32_t>, SymbolId> chunks_;   ///< of groups, by the leader and the first element
  std::map<std::pair<ValueId, ValueId>, SymbolId> quotients_;  ///< of a step
  std::map<ir::NodeId, SymbolId> computed_;                    ///< of what is computed once
  Loads loads_, of_first_, of_next_;
};

}  // namespace ingot::codegen
