#include "codegen/kernel/cpu/frame.h"

#include <algorithm>

#include "base/error.h"

namespace ingot::codegen {

CpuFrame::CpuFrame(const KernelContext& context) : CpuKernel(context), inner_axis_(std::max(context.rank(), 1u) - 1) {
  assembly_.set_block({Level::Kernel, Level::Row, Level::Thread}, row_);
}

Kernel CpuFrame::build() {
  begin();
  start();
  const std::vector<ValueId> results =
      compute(context_, assembly_, memory_, *this, job_of_output_blocks(context_.graph, context_.outline));
  const auto first_store = static_cast<uint32_t>(context_.outline.accesses.size() - results.size());
  for (uint32_t r = 0; r < results.size(); ++r) store(first_store + r, results[r]);
  append(assembly_.kernel.body, loops());
  return finish();
}

ValueId CpuFrame::base(uint32_t access) {
  const SymbolId pointer = memory_.pointer(access);
  const uint32_t leader = context_.layout.accesses[access].leader;
  const AccessLayout& layout = context_.layout.accesses[leader];
  ValueId& cached = row_pointers_[leader];
  if (cached) return cached;
  ValueId value = assembly_.read(pointer);
  if (has_rows() && layout.is_linear) {
    value = assembly_.index(IndexOp::Add, value, row_index());
  } else {
    for (uint32_t d = 0; d < inner_axis_; ++d) {
      if (layout.axes[d] == StrideClass::Zero) continue;
      ValueId step = row_coordinate(d);
      if (layout.axes[d] != StrideClass::One) step = assembly_.index(IndexOp::Mul, step, memory_.stride(leader, d));
      value = assembly_.index(IndexOp::Add, value, step);
    }
  }
  if (assembly_[value].kind == Value::Kind::Index)
    value = let(pointers_, value, assembly_[pointer].name + row_suffix());
  return cached = value;
}

ValueId CpuFrame::row_of(uint32_t access) {
  const uint32_t neighbour = context_.layout.accesses[access].neighbour;
  return neighbour == 0 ? base(access) : assembly_.index(IndexOp::Add, base(access), integer(neighbour));
}

ValueId CpuFrame::unrounded(ValueId value) const {
  const Value& rounded = assembly_[value];
  if (rounded.kind != Value::Kind::Cast || rounded.operand_type != ir::DType::F32)
    throw_internal("a float16 that no float32 was rounded to is stored as one");
  return rounded.operands[0];
}

Body CpuFrame::row(ValueId begin, ValueId end, Body filled) {
  Loop elements = simd(element_index_, begin, end, std::move(element_));
  elements.lanes = context_.schedule.simd;
  Body body = std::move(pointers_);
  append(body, std::move(filled));
  append(body, std::move(row_));
  append(body, around(std::move(elements)));
  return body;
}

}  // namespace ingot::codegen
