#pragma once

#include <map>
#include <vector>

#include "codegen/kernel/computation.h"

// What kernels that reduce have in common, whatever the target: the states of a row's classes, how an element is taken
// into them, and what a row's reductions are called.

namespace ingot::codegen {

/// What a kernel does of its rows: all of it; or of rows that are split, what is found of their pieces, and the rest.
enum class RowPart : uint8_t { Whole, Pieces, Rest };

/// One reduction of a kernel: its arrays, an element a class, and what they come to.
struct RowReduction {
  ir::NodeId node;
  ir::ReduceKind kind;
  uint32_t phase = 0;
  uint32_t first_state = 0;       ///< of LaunchInfo::states
  std::vector<ir::DType> types;   ///< of its values
  std::vector<SymbolId> classes;  ///< an array for each
  std::vector<SymbolId> results;  ///< a number for each
};

/// Where rows are: along the axes that are kept, by a row's number.
class RowPlaces {
 public:
  /// What is found out stands at the end of `block`.
  RowPlaces(const KernelContext& context, Assembly& assembly, Memory& memory, Body& block)
      : context_(context), assembly_(assembly), memory_(memory), block_(block) {}

  void set_row(ValueId number) { number_ = number; }

  uint32_t kept() const { return context_.rank() - context_.layout.reduced_axes; }
  bool moves_in_row(uint32_t access) const;
  ValueId extent(uint32_t axis) { return assembly_.read(memory_.extent(axis)); }
  /// Along an axis that is kept.
  ValueId coordinate(uint32_t axis);
  /// The pointer to a row's first element; of what does not move in a row, the pointer that it is counted from.
  ValueId base(uint32_t access);
  /// Of the product of these axes' extents; 1 of none.
  ValueId elements(uint32_t first, uint32_t last);
  ValueId length() { return elements(kept(), context_.rank()); }

 private:
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  Body& block_;
  ValueId number_;
  std::map<uint32_t, ValueId> coordinates_, pointers_;
};

class RowReductions {
 public:
  RowReductions(const KernelContext& context, Assembly& assembly, Memory& memory);

  std::vector<RowReduction>& all() { return reductions_; }
  std::vector<ir::DType> states() const;
  uint32_t phases() const;

  /// Arrays of that many classes, declared at the end of `block` and set to what is found of no elements by a loop of
  /// that kind.
  void declare(Body& block, RowReduction& reduction, uint32_t classes, Loop::Kind loop);
  /// Takes what was found of an element, a value for each state, into a class.
  void fold(Body& block, const RowReduction& reduction, ValueId class_number, const std::vector<ValueId>& found);
  /// Makes one of the classes; from here on the row's values are known.
  void combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads, uint32_t spacing = 1);

  const std::map<ReducedValue, ValueId>& known() const { return known_; }
  /// An element of what was found of pieces: to be assigned to where it is `written`.
  ValueId state(uint32_t number, ValueId index, bool written);

  /// The parts that are stored in a phase, or those that there is one of a row: nodes to compute, and the accesses that
  /// store them.
  struct Stores {
    std::vector<Job::Root> roots;
    std::vector<uint32_t> accesses;
  };
  Stores stores_of(uint32_t phase) const;
  Stores stores_of_rows() const;
  /// The stores of what later kernels read: each one's access, and its value.
  std::vector<std::pair<uint32_t, ValueId>> kept_values();

 private:
  Job::Root root_of(const KernelOutline::PartRef& part) const;
  SymbolId result_of(ir::NodeId node, uint32_t value, ir::DType dtype);

  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  std::vector<RowReduction> reductions_;
  std::map<ReducedValue, ValueId> known_;
  uint32_t slots_ = 0;
  std::string class_name_;
};

}  // namespace ingot::codegen
