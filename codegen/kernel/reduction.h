#pragma once

#include <map>
#include <vector>

#include "codegen/kernel/computation.h"

// What kernels that reduce have in common, whatever the target: the states of a row's classes, how an element is taken
// into them, and what a row's reductions are called.

namespace ingot::codegen {

/// One reduction of a kernel: its arrays, an element a class, and what they come to.
struct RowReduction {
  ir::NodeId node;
  ir::ReduceKind kind;
  uint32_t phase = 0;
  uint32_t first_state = 0;        ///< of LaunchInfo::states
  std::vector<ir::DType> types;    ///< of its values
  std::vector<SymbolId> classes;   ///< an array for each
  std::vector<SymbolId> results;   ///< a number for each
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
  /// Takes an element into a class; `at`: which of the row's elements it is. `found`: a value for each state.
  void fold(Body& block, const RowReduction& reduction, ValueId class_number, const std::vector<ValueId>& found);
  /// Makes one of the classes; from here on the row's values are known.
  void combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads);

  const std::map<ReducedValue, ValueId>& known() const { return known_; }
  SymbolId state_pointer(uint32_t state);

 private:
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
