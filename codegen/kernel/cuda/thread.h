#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/memory.h"

// Where the elements are of a thread: its lanes, and where it takes several steps through a row, those of each.

namespace ingot::codegen {

/// The number of this block, of the type of indices.
ValueId block_number(const KernelContext& context, Assembly& assembly);
/// The number of this thread in its block, at the level of what it tells apart.
ValueId thread_number(Assembly& assembly, Level level);

/// The statements of a kernel that reduces nothing, by where they stand: those of a step follow one another.
struct ThreadBody {
  Body of_row;  ///< ahead of the steps; where there is one alone, such values are the thread's
  Body loads, fetched_vectors, fetch, foreseen, thread, element, stores;
};

class ThreadElements : public Space {
 public:
  ThreadElements(const KernelContext& context, Assembly& assembly, Memory& memory, ThreadBody& body);

  /// Settles where the thread is; `first` is known from here on.
  void find();

  /// The index of the first lane's element.
  ValueId first() const { return first_; }
  /// Where a thread's elements end: the domain, or the block's row. That may begin behind `first`, at `begin`.
  ValueId end() const { return end_; }
  ValueId begin() const { return begin_; }
  /// Whether all that a block takes in several steps is of its row; none where it takes one.
  ValueId is_within_row();
  /// Whether all of a thread's lanes are elements, where its steps know that; none where they do not.
  ValueId is_whole() { return whole_ ? assembly_.read(whole_) : ValueId{}; }

  bool has_lanes() const { return schedule_.lanes > 1; }
  bool has_neighbours() const { return has_lanes() && lane_step_ == 1; }
  ValueId lane_number(Level level) { return assembly_.read(lane_, level); }
  Loop over_lanes(Body body) const;
  /// What is known of a lane in the loop over them so far is not in the next one.
  void leave_lane();
  /// Of a lane for which something is stored: under a guard that says so, unless none is past the end.
  ValueId stored();

  /// Where what is known of the thread in this step has room.
  Body& of_step() { return steps_ > 1 ? body_.loads : assembly_.kernel.indices; }
  /// What a loop over lanes ends with.
  Body to_next_lane();
  /// Puts the kernel together of the statements of a step.
  void assemble(Body step);

  // Space

  ValueId linear(Level level) override { return level <= Level::Thread || !has_lanes() ? first_ : element(level); }
  bool counts_domain() const override { return true; }
  ValueId coordinate(uint32_t axis, Level level) override;
  ValueId base(uint32_t access) override { return assembly_.read(memory_.pointer(access)); }
  uint32_t first_axis(uint32_t) const override { return 0; }
  uint32_t first_inner_axis() const override;
  Level level_of_names() const override;
  std::string suffix() override;

 private:
  void find_row();
  void find_steps(const Walk& walk);
  ValueId first_of(const Walk& walk);
  ValueId behind_block();
  Statement steps(Body step);

  ValueId lane_offset(Level level);
  ValueId element(Level level);
  ValueId in_row(uint32_t axis, Level level);
  ValueId divided(uint32_t axis, ValueId linear, Level level);
  ValueId quotient(uint32_t axis, ValueId linear) { return memory_.quotient(linear, 0, context_.rank(), axis); }

  void start_carrying();
  ValueId carried(uint32_t axis, Level level);
  ValueId kept(ValueId value, const std::string& name);
  Body carry(uint32_t axis);

  Body& block_of(Level level);
  ValueId named(ValueId value, const std::string& name);
  const std::string& name_of(const std::string& wanted);

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly& assembly_;
  Memory& memory_;
  ThreadBody& body_;
  SymbolId lane_;
  uint32_t lane_step_ = 1;
  ValueId first_, end_;
  ValueId row_, begin_;  ///< of a block that has one
  uint32_t steps_ = 1;   ///< of a thread through it, or along the domain, from `first_of_block_` on
  ValueId first_of_block_;
  SymbolId step_, whole_;
  std::map<Level, ValueId> elements_;
  std::map<std::pair<uint32_t, Level>, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;  ///< of axes
  std::vector<SymbolId> carried_;
  std::map<ValueId, SymbolId> kept_;
  std::map<std::string, std::string> names_;
};

}  // namespace ingot::codegen
