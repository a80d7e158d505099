#pragma once

#include <map>
#include <string>

#include "codegen/kernel/cpu/kernel.h"

namespace ingot::codegen {

/// What CPU kernels that reduce nothing have in common whatever their loops: a loop for vector instructions over
/// elements of one row, and what stands once a row.
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
  /// Settles where a row is.
  virtual void start() {}
  virtual ValueId row_coordinate(uint32_t axis) = 0;
  /// The index of a row's first element among those of the domain.
  virtual ValueId row_index() = 0;
  /// All loops.
  virtual Body loops() = 0;

  /// What is called, behind the tensor's name, a pointer to where a row begins.
  virtual std::string name_of_place() { return "_row"; }

  virtual void store(uint32_t access, ValueId value) { assign(memory_.target(access, Level::Element), value); }
  /// What the loop over elements stands in.
  virtual Body around(Loop elements) { return {{std::move(elements)}}; }

  /// The pointer to where an access's row begins: `base`, but for a group's member its own.
  ValueId row_of(uint32_t access);
  /// The float32 that a float16 was made of.
  ValueId unrounded(ValueId value) const;

  /// What stands once a row, `filled` as soon as it is known where it begins, and the loop over its elements.
  Body row(ValueId begin, ValueId end, Body filled = {});

  uint32_t inner_axis_;
  SymbolId element_index_;
  Body row_;

 private:
  std::map<uint32_t, ValueId> row_pointers_;
  Body pointers_;
};

}  // namespace ingot::codegen
