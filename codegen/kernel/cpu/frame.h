#pragma once

#include <map>
#include <optional>
#include <vector>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// What CPU kernels have in common whatever their loops: a loop for vector instructions over elements of one row, what
/// stands once a row, and what is checked.
class CpuFrame : public Space, public Access {
 public:
  explicit CpuFrame(const KernelContext& context);

  virtual Kernel build();

  // Space

  ValueId linear(Level) override { return assembly_.read(element_index_); }
  ValueId coordinate(uint32_t axis, Level) override {
    return axis == inner_axis_ ? assembly_.read(element_index_) : row_coordinate(axis);
  }
  ValueId base(uint32_t access) override;
  uint32_t first_axis(uint32_t) const override { return inner_axis_; }
  uint32_t first_inner_axis() const override { return inner_axis_; }
  Level level_of_names() const override { return Level::Element; }
  std::string suffix() override { return "_" + assembly_[element_index_].name; }

  // Access

  ValueId load(uint32_t access) override { return memory_.load(access, Level::Element); }
  std::vector<ValueId> wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) override;
  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    return memory_.load(access, Level::Element, wrapped);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  ValueId divisor(ValueId value, uint32_t division) override;

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

  void assign(ValueId target, ValueId value) { element_.push_back({Assign{target, value}}); }
  const AccessSchedule& how(uint32_t access) const { return context_.schedule.accesses[access]; }
  /// An array for what the loop reads or writes instead of an access's memory, and its element.
  SymbolId buffer(uint32_t access, std::string_view suffix, uint32_t elements);
  /// The pointer to where an access's row begins: `base`, but for a group's member its own.
  ValueId row_of(uint32_t access);
  ValueId element_of(SymbolId buffer, uint32_t access, ValueId index);
  /// The float32 that a float16 was made of.
  ValueId unrounded(ValueId value) const;

  /// What stands once a row, `filled` as soon as it is known where it begins, and the loop over its elements.
  Body row(ValueId begin, ValueId end, Body filled = {});
  /// A whole number by a free name, at the end of this block.
  ValueId let(Body& block, ValueId value, std::string_view wanted) {
    return assembly_.let(block, value, assembly_.claim(wanted));
  }

  /// Names what every kernel takes.
  void begin();
  Kernel finish();

  const KernelContext& context_;
  Assembly assembly_;
  Memory memory_;
  uint32_t inner_axis_;
  SymbolId element_index_;
  SymbolId bad_;
  bool checks_elements_ = false;
  Body row_, element_;

 private:
  /// Whether what checks this value is made for each element.
  bool is_inner(ValueId value) const { return assembly_[value].level == Level::Element || assembly_.stands_in(); }
  /// The code of what went wrong, if anything did.
  ValueId bad();
  void report_bad();

  std::map<uint32_t, ValueId> row_pointers_;
  Body pointers_;
};

inline void append(Body& body, Body more) { std::ranges::move(more, std::back_inserter(body)); }

}  // namespace ingot::codegen
