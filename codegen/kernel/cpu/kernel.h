#pragma once

#include <string_view>
#include <vector>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/memory.h"

namespace ingot::codegen {

/// The common part of all CPU kernels: parameters and error checks.
class CpuKernel : public Space, public AccessEmitter {
 public:
  explicit CpuKernel(const KernelContext& context);

  virtual Kernel build() = 0;

  // Space

  Level level_of_names() const override { return Level::Element; }

  // AccessEmitter

  ValueId load(uint32_t access) override { return memory_.load(access, Level::Element); }
  std::vector<ValueId> wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                    ValueId entry_condition) override;
  ValueId gather(uint32_t access, const std::vector<ValueId>& wrapped) override {
    return memory_.load(access, Level::Element, wrapped);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  ValueId checked_divisor(ValueId value, uint32_t division) override;

 protected:
  const AccessSchedule& how(uint32_t access) const { return context_.schedule.accesses[access]; }
  ValueId integer(int64_t number) { return assembly_.integer(number); }
  /// Gives an integer a unique name, and computes it at the end of this block.
  ValueId let(Body& block, ValueId value, std::string_view preferred) {
    return assembly_.let(block, value, assembly_.claim(preferred));
  }
  /// Assigns a value, once per element.
  void assign(ValueId target, ValueId value) { element_.push_back({Assign{target, value}}); }

  /// An array that the loop over elements reads or writes instead of the access's tensor; and an element of the array.
  SymbolId buffer(uint32_t access, std::string_view suffix, uint32_t elements);
  ValueId element_of(SymbolId buffer, uint32_t access, ValueId index);

  /// A loop for vector instructions.
  Loop simd(SymbolId variable, ValueId begin, ValueId end, Body body);

  /// Names the parameters that every kernel has: the range of units and the arguments.
  void begin();
  /// Completes the kernel, once all its statements are in place.
  Kernel finish();

  const KernelContext& context_;
  Assembly assembly_;
  Memory memory_;
  Body element_;  ///< statements that run once per element

 private:
  /// Whether a check of this value is executed in the loop over elements.
  bool is_inner(ValueId value) const { return assembly_[value].level == Level::Element || assembly_.is_redirected(); }
  /// The variable with the error code; 0 if there was no error.
  ValueId error_code();
  /// Writes the error code to the status argument, after all rows.
  void report_error();

  SymbolId error_code_;
  bool checks_elements_ = false;  ///< the loop over elements may set the error code
};

}  // namespace ingot::codegen
