#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/memory.h"

// The position of a thread's elements: its vector (`lanes`), and the vectors of each step if it takes several.

namespace ingot::codegen {

/// The index of this block, in the index type.
ValueId block_number(const KernelContext& context, Assembly& assembly);
/// The index of this thread in its block, at the level of the values that depend on it.
ValueId thread_number(Assembly& assembly, Level level);

/// The statements of a kernel that reduces nothing, by place. The statements of a step are in the order of the members.
struct ThreadBody {
  Body of_row;  ///< before the steps; with a single step, such values are computed in `thread`
  Body loads, fetched_vectors, fetch, hoisted, thread, element, stores;
};

/// The elements of a thread in a kernel that reduces nothing: their indices and coordinates.
class ThreadElements : public Space {
 public:
  ThreadElements(const KernelContext& context, Assembly& assembly, Memory& memory, ThreadBody& body);

  /// Computes the thread's position; `first` is available from here on.
  void find();

  /// The index of the thread's first element.
  ValueId first() const { return first_; }
  /// The end of a thread's elements: the end of the domain, or of the block's row. The row may start after `first`, at
  /// `begin`.
  ValueId end() const { return end_; }
  ValueId begin() const { return begin_; }
  /// Whether everything that a block computes in several steps is in its row; none if there is one step.
  ValueId is_within_row();
  /// Whether all elements of the thread's vector exist, if the loop over steps provides that; none otherwise.
  ValueId is_whole() { return whole_ ? assembly_.read(whole_) : ValueId{}; }

  bool has_lanes() const { return schedule_.lanes > 1; }
  bool has_neighbours() const { return has_lanes() && lane_step_ == 1; }
  ValueId lane_number(Level level) { return assembly_.read(lane_, level); }
  Loop over_lanes(Body body) const;
  /// Forgets the values of an element, because another loop over the thread's elements must compute them again.
  void forget_element();
  /// The index of an element that is stored. The store is guarded unless no element is past the end.
  ValueId stored();

  /// The block for values of the thread in the current step.
  Body& of_step() { return steps_ > 1 ? body_.loads : assembly_.kernel.indices; }
  /// The statements at the end of an iteration of the loop over the thread's elements.
  Body to_next_lane();
  /// Builds the kernel from the statements of a step.
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
  void find_steps(const LoopMap& loop_map);
  ValueId first_of(const LoopMap& loop_map);
  ValueId behind_block();
  Statement steps(Body step);

  ValueId lane_offset(Level level);
  ValueId element(Level level);
  ValueId in_row(uint32_t axis, Level level);
  ValueId divided(uint32_t axis, ValueId linear, Level level);
  ValueId quotient(uint32_t axis, ValueId linear) { return memory_.quotient(linear, 0, context_.rank(), axis); }

  void start_carrying();
  ValueId carried(uint32_t axis, Level level);
  ValueId lane_vector(ValueId value, const std::string& name);
  Body carry(uint32_t axis);

  Body& block_of(Level level);
  ValueId named(ValueId value, const std::string& name);
  const std::string& name_of(const std::string& preferred);

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly& assembly_;
  Memory& memory_;
  ThreadBody& body_;
  SymbolId lane_;
  uint32_t lane_step_ = 1;
  ValueId first_, end_;
  ValueId row_, begin_;  ///< of a block that has a part of one row
  uint32_t steps_ = 1;   ///< of a thread through its row or the domain, from `first_of_block_` on
  ValueId first_of_block_;
  SymbolId step_, whole_;
  std::map<Level, ValueId> elements_;
  std::map<std::pair<uint32_t, Level>, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;  ///< by axis
  std::vector<SymbolId> carried_;
  std::map<ValueId, SymbolId> lane_vectors_;
  std::map<std::string, std::string> names_;
};

}  // namespace ingot::codegen
