#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "codegen/kernel/memory.h"

// The positions of the elements of a thread: those of its vector (`lanes`), in each step if the thread takes several.

namespace ingot::codegen {

/// The index of this block, in the index type.
ValueId block_number(const KernelContext& context, Assembly& assembly);
/// The index of this thread in its block, at the level of the values that depend on it.
ValueId thread_number(Assembly& assembly, Level level);

/// The statements of a kernel that reduces nothing, by their place in it. A step executes them in the order of the
/// members, from `loads` on.
struct ThreadBody {
  Body of_row;           ///< before the steps; with a single step, such values are computed in `thread`
  Body loads;            ///< of vectors
  Body fetched_vectors;  ///< declarations of the vectors that `fetch` fills
  Body fetch;            ///< per element: loads that precede all computations
  Body hoisted;          ///< per element: loads under hoisted predicates
  Body thread;           ///< values of the thread
  Body element;          ///< per element: its computation
  Body stores;           ///< of vectors
};

/// The elements of a thread in a kernel that reduces nothing: their indices and coordinates.
class ThreadElements : public Space {
 public:
  ThreadElements(const KernelContext& context, Assembly& assembly, Memory& memory, ThreadBody& body);

  /// Computes the thread's position; `first` is available from here on.
  void find();

  /// The index of the thread's first element.
  ValueId first() const { return first_; }
  /// Elements at or past `end` do not exist: it is the end of the domain, or of the block's row. If the block has a
  /// row, `begin` is the row's first element, and elements before it are not computed; otherwise `begin` is none.
  ValueId end() const { return end_; }
  ValueId begin() const { return begin_; }
  /// Whether all elements of the block's steps are in its row; none if there is one step.
  ValueId is_within_row();
  /// Whether all elements of the thread's vector exist, if the loop over steps provides that; none otherwise.
  ValueId is_whole() { return whole_ ? assembly_.read(whole_) : ValueId{}; }

  /// Whether a thread has several elements per step (has_lanes), and they are adjacent (has_neighbours).
  bool has_lanes() const { return schedule_.lanes() > 1; }
  bool has_neighbours() const { return has_lanes() && lane_step_ == 1; }
  /// The number of an element in the thread's vector.
  ValueId lane_number(Level level) { return assembly_.read(lane_, level); }
  /// A loop over the elements of the thread's vector.
  Loop over_lanes(Body body) const;
  /// Forgets the values of an element, because another loop over the thread's elements must compute them again.
  void forget_element();
  /// The index of an element, which may be past the end: a guard of the element's store compares it with `end`.
  ValueId stored_index();

  /// The block of statements for values of the thread in the current step.
  Body& of_step() { return steps_ > 1 ? body_.loads : assembly_.kernel.indices; }
  /// The statements at the end of an iteration of the loop that loads the thread's elements.
  Body to_next_lane();
  /// Builds the kernel's body from the statements of a step.
  void assemble(Body step);

  // Space

  ValueId linear(Level level) override {
    return level <= Level::Thread || !has_lanes() ? first_ : element_index(level);
  }
  bool linear_spans_domain() const override { return true; }
  ValueId coordinate(uint32_t axis, Level level) override;
  ValueId base(uint32_t access) override { return assembly_.read(memory_.pointer(access)); }
  uint32_t first_axis(uint32_t) const override { return 0; }
  uint32_t first_inner_axis() const override;
  Level level_of_names() const override;
  std::string suffix() override;

 private:
  // `find` for the kinds of schedules: see the definitions.
  void find_row();
  void find_steps(const LoopMap& loop_map);
  ValueId first_element_of(const LoopMap& loop_map);
  /// The end of the elements that the block computes.
  ValueId end_of_block();
  /// The loop over the steps of a block.
  Statement steps(Body step);

  /// The distance of an element from the thread's first one.
  ValueId lane_offset(Level level);
  ValueId element_index(Level level);
  ValueId coordinate_in_row(uint32_t axis, Level level);
  ValueId coordinate_by_division(uint32_t axis, ValueId linear, Level level);
  ValueId coordinate_of(uint32_t axis, ValueId linear) {
    return memory_.coordinate_of(linear, 0, context_.rank(), axis);
  }

  /// Declares the coordinates that are incremented from element to element.
  void start_carrying();
  /// A coordinate that is incremented from element to element.
  ValueId carried_coordinate(uint32_t axis, Level level);
  /// The value, in the loop that computes elements, of a value of the loop that loads them: kept in a vector.
  ValueId lane_vector(ValueId value, const std::string& name);
  /// Advances the coordinates to the next element, with carry, from this axis outwards.
  Body advance_coordinate(uint32_t axis);

  /// The block of statements for values of level Fetch or Element.
  Body& block_of(Level level);
  /// Names an index and computes it among the kernel's indices.
  ValueId let_index(ValueId value, const std::string& name);
  const std::string& name_of(const std::string& preferred);

  const KernelContext& context_;
  const Schedule& schedule_;
  Assembly& assembly_;
  Memory& memory_;
  ThreadBody& body_;
  SymbolId lane_;
  uint32_t lane_step_ = 1;  ///< the distance between a thread's elements
  ValueId first_, end_;
  ValueId row_, begin_;  ///< of a block that has a part of one row
  uint32_t steps_ = 1;   ///< of a thread through its row or the domain, from `first_of_block_` on
  ValueId first_of_block_;
  SymbolId step_, whole_;              ///< with several steps: the variable of their loop, and is_whole's
  std::map<Level, ValueId> elements_;  ///< the index of an element, by the level of its loop
  std::map<std::pair<uint32_t, Level>, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;  ///< by axis
  std::vector<SymbolId> carried_;             ///< by axis: see start_carrying
  std::map<ValueId, SymbolId> lane_vectors_;
  std::map<std::string, std::string> names_;
};

}  // namespace ingot::codegen
