#pragma once

#include <map>
#include <string>

#include "codegen/kernel/cpu/kernel.h"

namespace ingot::codegen {

/// The common part of CPU kernels without reductions: a vectorised loop over the elements of one row (the
/// elements along the innermost axis, or several such rows as one), and statements that run once per row.
class CpuFrame : public CpuKernel {
 public:
  explicit CpuFrame(const KernelContext& context);

  Kernel build() override;

  // Space

  ValueId linear(Level) override { return assembly_.read(element_index_); }
  ValueId coordinate(uint32_t axis, Level) override {
    return axis == inner_axis_ ? assembly_.read(element_index_) : row_coordinate(axis);
  }
  ValueId base(uint32_t access) override;
  uint32_t first_axis(uint32_t) const override { return inner_axis_; }
  uint32_t first_inner_axis() const override { return inner_axis_; }
  std::string suffix() override { return "_" + assembly_[element_index_].name; }

 protected:
  bool has_rows() const { return context_.rank() > 1; }
  /// Emits the computation of a row's position.
  virtual void start() {}
  /// The coordinate of the current row along an axis other than the innermost one.
  virtual ValueId row_coordinate(uint32_t axis) = 0;
  /// The linear index, in the domain, of the current row's first element.
  virtual ValueId row_index() = 0;
  /// All loops of the kernel, with their bodies.
  virtual Body loops() = 0;

  /// The suffix, after the tensor's name, of a pointer to the start of a row.
  virtual std::string row_suffix() { return "_row"; }

  virtual void store(uint32_t access, ValueId value) { assign(memory_.element_lvalue(access, Level::Element), value); }
  /// Wraps the loop over elements.
  virtual Body around(Loop elements) { return {{std::move(elements)}}; }

  /// The pointer to the start of an access's row: `base`, plus, for a member of an access group, the member's distance
  /// from the leader (AccessLayout::neighbour).
  ValueId row_of(uint32_t access);
  /// The float32 from which a float16 was rounded.
  ValueId unrounded(ValueId value) const;

  /// The statements that run once per row, and the loop over its elements. `filled`: statements to insert right after
  /// the row's position is computed.
  Body row(ValueId begin, ValueId end, Body filled = {});

  uint32_t inner_axis_;     ///< the innermost axis
  SymbolId element_index_;  ///< the variable of the loop over elements
  Body row_;                ///< statements that run once per row

 private:
  std::map<uint32_t, ValueId> row_pointers_;  ///< see `base`; by leader
  Body pointers_;                             ///< the statements that compute them
};

}  // namespace ingot::codegen
