#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/kernel/cpu/kernel.h"
#include "codegen/kernel/reduction.h"

namespace ingot::codegen {

/// What CPU kernels that reduce have in common. A row is gone through phase by phase; what each element gives is taken
/// into its class, the classes of a piece of the row are made one, and so are its pieces. A row that is split is a unit
/// for each of its pieces, and what these have found is put together by a second function. Which rows and elements
/// stand side by side, for vector instructions, is the derived classes'.
class CpuReduce : public CpuKernel {
 public:
  Kernel build() override;

  // Space

  ValueId linear(Level) override { return row_number_; }
  bool has_linear() const override { return false; }
  ValueId base(uint32_t access) override { return places_.base(access); }
  uint32_t first_axis(uint32_t access) const override { return places_.first_axis(access); }
  uint32_t first_inner_axis() const override { return kept_; }

 protected:
  /// `lanes` rows side by side, numbered by `lane`.
  CpuReduce(const KernelContext& context, RowPart part, uint32_t lanes = 1, std::string_view lane = {});

  /// The index of an element in its row.
  virtual ValueId element_index() = 0;
  /// Settles row_number_, and piece_ where there are pieces; the launch's grid.
  virtual void find_row() = 0;
  /// `body` for each unit of the launch.
  virtual Body units(Body body) = 0;
  /// At the end of `block`, a loop over elements [from, to) of the rows for what stands in `element_`.
  virtual void loop_over(Body& block, ValueId from, ValueId to) = 0;
  /// At the end of `block`, `of_row` for each row.
  virtual void for_each_row(Body& block, Body of_row) = 0;
  /// Of an element's part, in the loop over elements.
  virtual void store(uint32_t access, ValueId value);
  /// Whether an element is one, in loops that also compute what lies behind the last; none: they do not.
  virtual ValueId valid() { return {}; }
  /// In the loop over elements: those of this access are written later on.
  virtual void announce(uint32_t) {}
  /// Of an element; in the loop over elements.
  virtual ValueId class_number() = 0;
  /// Where a row's state is among those of all pieces.
  virtual ValueId place_of_state(ValueId piece) = 0;

  /// Whether a class is done with before the next one, so that vectors of few elements stay in registers.
  bool goes_by_class() const;
  bool has_runs() const { return context_.layout.reduced_axes > 1; }
  ValueId pieces();
  /// What is settled so far stands in the body of the loop over units.
  void settle();

  RowPart part_;
  const RowSchedule& rows_;
  uint32_t lanes_;
  SymbolId lane_;  ///< the number of a row among those side by side; none where there is one
  Body row_;
  Body class_begin_;  ///< of a phase that goes by class
  RowReductions reductions_;
  RowPlaces places_;
  uint32_t kept_;  ///< axes that are
  SymbolId unit_;
  ValueId row_number_, piece_;

 private:
  ClassPlace class_place(ValueId number) { return {number, lane_ ? assembly_.read(lane_) : ValueId{}}; }
  ValueId of_row(SymbolId result);
  void go_through(uint32_t phase);
  void announce_stores();
  void find_nothing(const RowWork& work);
  std::vector<ir::NodeId> keep(Job& job);
  ValueId kept_element(SymbolId array);
  void nest(const std::vector<RowReduction*>& mine, std::vector<RowReduction>& of_piece, Body declared);
  void over_pieces(SymbolId piece, Body inside);
  ClassPlace class_of_piece(ValueId piece);
  void leave_states();
  void combine_pieces();
  void store_rows();
  ValueId end_of_piece(ValueId from);

  Body body_;
  std::map<ir::NodeId, SymbolId> computed_;  ///< the arrays of values that are kept from phase to phase
};

Kernel build_cpu_rows(const KernelContext& context, RowPart part);
Kernel build_cpu_columns(const KernelContext& context, RowPart part);

}  // namespace ingot::codegen
