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
  bool is_early = false;               ///< taken in the phase before its own, of one arm of a `where`
  uint32_t first_state = 0;            ///< of LaunchInfo::states
  std::vector<ir::DType> types = {};   ///< of its values
  std::vector<SymbolId> classes = {};  ///< an array for each
  std::vector<SymbolId> results = {};  ///< a number for each
  SymbolId levels = {};                ///< what is found of groups of classes, as far as it is put together
  SymbolId runs = {};                  ///< what is found of runs of classes, an element each

  /// Whether its value depends on the order in which elements are taken.
  bool has_order() const;
};

/// Where rows are: along the axes that are kept, by a row's number.
class RowPlaces {
 public:
  /// What is found out stands at the end of `block`. Pointers to rows leave the last `free_axes` of those that are kept
  /// to the index of an element.
  RowPlaces(const KernelContext& context, Assembly& assembly, Memory& memory, Body& block, uint32_t free_axes = 0)
      : context_(context), assembly_(assembly), memory_(memory), block_(block), free_axes_(free_axes) {}

  void set_row(ValueId number) { number_ = number; }

  uint32_t kept() const { return context_.rank() - context_.layout.reduced_axes; }
  bool moves_in_row(uint32_t access) const;
  ValueId extent(uint32_t axis) { return assembly_.read(memory_.extent(axis)); }
  /// Along an axis that is kept.
  ValueId coordinate(uint32_t axis);
  /// The pointer to a row's first element; of what does not move in a row, the pointer that it is counted from.
  ValueId base(uint32_t access);
  /// The first axis along which an access counts from there.
  uint32_t first_axis(uint32_t access) const { return moves_in_row(access) ? kept() - free_axes_ : 0; }
  /// Of the product of these axes' extents; 1 of none.
  ValueId elements(uint32_t first, uint32_t last);
  ValueId length() { return elements(kept(), context_.rank()); }

 private:
  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  Body& block_;
  uint32_t free_axes_;
  ValueId number_;
  std::map<uint32_t, ValueId> coordinates_, pointers_;
};

/// What is computed in a phase, or of rows once all are over: the roots are what `reductions` take, what `passed` do,
/// of columns, then what `stores`, the numbers of accesses, write.
struct RowWork {
  Job job;
  std::vector<RowReduction*> reductions = {}, passed = {};
  std::vector<uint32_t> stores = {};
};

/// An element of an array of classes, and of several rows' side by side the lane that is its row.
struct ClassPlace {
  ValueId number, lane = {};
};

class RowReductions {
 public:
  /// Where a thread has several rows, `lane` counts them.
  RowReductions(const KernelContext& context, Assembly& assembly, Memory& memory, uint32_t rows = 1,
                SymbolId lane = {});

  std::vector<RowReduction>& all() { return reductions_; }
  /// Those of columns, which are taken in passing.
  std::vector<RowReduction>& passed() { return passed_; }
  /// A variable for what a reduction comes to, of each row.
  SymbolId result(std::string_view wanted, ir::DType dtype);
  std::vector<ir::DType> states() const;
  uint32_t phases() const;

  /// Arrays of that many classes, declared at the end of `block` and set to what is found of no elements by a loop of
  /// that kind.
  void declare(Body& block, RowReduction& reduction, uint32_t classes, Loop::Kind loop);
  /// What loops over classes count with.
  SymbolId class_counter();
  /// The same in two steps: the arrays alone, and what is found of no elements as one class of theirs.
  void declare_arrays(Body& block, RowReduction& reduction, uint32_t classes);
  void clear_class(Body& block, const RowReduction& reduction, ValueId number, Loop::Kind loop);
  /// Of a reduction of columns, `steps` vectors of `lanes` classes, one a column.
  void declare_columns(Body& block, RowReduction& reduction, uint32_t steps, uint32_t lanes);
  /// Whether it is given the two factors of what it adds up. On CUDA a product that goes into a sum is not rounded, as
  /// eager's kernels have it: one instruction for two.
  bool takes_factors(const RowReduction& reduction) const;
  /// Takes what was found of an element, a value for each state or two factors, into a class; if there is a condition,
  /// where it holds.
  void fold(Body& block, const RowReduction& reduction, ClassPlace place, const std::vector<ValueId>& found,
            ValueId condition = {});
  /// Classes come in groups, `groups` of them, a power of two: what carry() puts together of each is declared here.
  void declare_levels(Body& block, RowReduction& reduction, uint32_t groups);
  void carry(Body& block, const RowReduction& reduction, ValueId group);
  /// Classes come in runs of neighbours, `runs` of them: what join() makes of each is declared here.
  void declare_runs(Body& block, RowReduction& reduction, uint32_t runs);
  void join(Body& block, const RowReduction& reduction, ValueId run);
  /// The same in shared memory, for a loop that is not unrolled.
  void declare_shared_runs(Body& block, RowReduction& reduction, uint32_t runs, uint32_t threads);
  /// Makes one of the classes; from here on the row's values are known.
  void combine(Body& block, RowReduction& reduction, uint32_t lanes, uint32_t threads, uint32_t spacing = 1,
               uint32_t blocks = 1);

  /// Without the other arms of what is taken early.
  RowWork of_phase(uint32_t phase);
  /// Of what was taken early the other arms, to be put into `others`, reductions of their own; and the conditions, one
  /// each, of the arms that were taken.
  RowWork of_other_arms(std::vector<RowReduction>& others);
  Job early_conditions() const;
  std::vector<ir::NodeId> other_arms() const;
  std::vector<RowReduction*> early();
  RowWork of_rows();

  /// An element of what was found of pieces: to be assigned to where it is `written`.
  ValueId state(uint32_t number, ValueId index, bool written);
  /// The pointer to the first of them.
  SymbolId states_pointer(uint32_t number, bool written);

  /// The stores of what later kernels read: each one's access, and its value.
  std::vector<std::pair<uint32_t, ValueId>> kept_values();

 private:
  template <typename IsWanted>
  void add_parts(RowWork& work, IsWanted is_wanted) const;
  /// A loop over classes that sets each to what is found of no elements.
  void clear(Body& block, const RowReduction& reduction, uint32_t classes, Loop::Kind kind);
  RowReduction reduction_of(const KernelOutline::ReductionRef& ref, uint32_t first_state) const;
  void add_root(RowWork& work, const RowReduction& reduction) const;
  ValueId element(SymbolId array, ClassPlace place);
  SymbolId result_of(ir::NodeId node, uint32_t value, ir::DType dtype);
  /// Its type, and the extents of arrays of that: on CUDA the rows of a thread are a vector.
  Type of_rows(ir::DType dtype) const { return {dtype, context_.cuda() ? rows_ : 1}; }
  SymbolId with_extents(SymbolId array, std::vector<uint32_t> extents);

  const KernelContext& context_;
  Assembly& assembly_;
  Memory& memory_;
  uint32_t rows_;
  SymbolId lane_;
  std::vector<RowReduction> reductions_, passed_;
  std::map<ReducedValue, ValueId> known_;
  uint32_t slots_ = 0;
  std::string class_name_;
};

}  // namespace ingot::codegen
