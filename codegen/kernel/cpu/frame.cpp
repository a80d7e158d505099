#include "codegen/kernel/cpu/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace ingot::codegen {

CpuFrame::CpuFrame(const KernelContext& context)
    : context_(context),
      assembly_(context),
      memory_(context, assembly_),
      inner_axis_(std::max(context.rank(), 1u) - 1) {
  memory_.set_space(*this);
  assembly_.place({Level::Kernel, Level::Row, Level::Thread}, row_);
  assembly_.place({Level::Fetch, Level::Element}, element_);
}

void CpuFrame::begin() {
  Kernel& kernel = assembly_.kernel;
  kernel.begin = assembly_.variable("begin", {ir::DType::I64}, Level::Kernel);
  kernel.end = assembly_.variable("end", {ir::DType::I64}, Level::Kernel);
  kernel.arguments = assembly_.variable("arguments", {}, Level::Kernel);
}

Kernel CpuFrame::finish() {
  if (bad_) report_bad();
  memory_.describe_pointers();
  return assembly_.finish(context_);
}

Kernel CpuFrame::build() {
  begin();
  start();
  const std::vector<ValueId> results =
      compute(context_, assembly_, memory_, *this, job_of_parts(context_.graph, context_.outline));
  const auto first_store = static_cast<uint32_t>(context_.outline.accesses.size() - results.size());
  for (uint32_t r = 0; r < results.size(); ++r) store(first_store + r, results[r]);
  append(assembly_.kernel.body, loops());
  return finish();
}

ValueId CpuFrame::base(uint32_t access) {
  const SymbolId pointer = memory_.pointer(access);
  const uint32_t leader = context_.layout.accesses[access].leader;
  const AccessLayout& layout = context_.layout.accesses[leader];
  ValueId& known = row_pointers_[leader];
  if (known) return known;
  ValueId value = assembly_.read(pointer);
  if (has_rows() && layout.linear) {
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
    value = let(pointers_, value, assembly_[pointer].name + name_of_place());
  return known = value;
}

std::vector<ValueId> CpuFrame::wrap(uint32_t access, const std::vector<ValueId>& indices, ValueId guard) {
  std::vector<ValueId> wrapped;
  for (uint32_t l = 0; l < indices.size(); ++l) {
    wrapped.push_back(memory_.wrap(access, l, indices[l], bad(), guard));
    checks_elements_ |= is_inner(wrapped.back());
  }
  return wrapped;
}

ValueId CpuFrame::bad() {
  if (!bad_) bad_ = assembly_.variable("bad", {ir::DType::I32}, Level::Kernel);
  return assembly_.read(bad_);
}

ValueId CpuFrame::divisor(ValueId value, uint32_t division) {
  const auto code = static_cast<int64_t>(context_.outline.accesses.size()) + division + 1;
  const ValueId is_zero = assembly_.index(IndexOp::Equal, value, assembly_.whole(0));
  const ValueId next = assembly_.add({.kind = Value::Kind::Primitive,
                                      .type = {ir::DType::I32},
                                      .op = ir::Op::Where,
                                      .work = ir::DType::I32,
                                      .operands = {is_zero, assembly_.whole(code), bad()},
                                      .naming = Value::Naming::Inline});
  checks_elements_ |= is_inner(value);
  assembly_.block(assembly_[value].level).push_back({Assign{bad(), next}});
  return value;
}

SymbolId CpuFrame::buffer(uint32_t access, std::string_view suffix, uint32_t elements) {
  const ir::DType dtype = how(access).widened ? ir::DType::F32 : memory_.type_in_memory(access);
  const std::string name = assembly_[memory_.pointer(access)].name + std::string(suffix);
  const SymbolId buffer = assembly_.variable(name, {.dtype = dtype, .is_pointer = true}, Level::Row);
  assembly_[buffer].extents = {elements};
  return buffer;
}

ValueId CpuFrame::row_of(uint32_t access) {
  const uint32_t neighbour = context_.layout.accesses[access].neighbour;
  return neighbour == 0 ? base(access) : assembly_.index(IndexOp::Add, base(access), assembly_.whole(neighbour));
}

ValueId CpuFrame::element_of(SymbolId buffer, uint32_t access, ValueId index) {
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {assembly_[buffer].type.dtype},
                        .operands = {assembly_.read(buffer), index},
                        .name = assembly_[memory_.pointer(access)].name + suffix()});
}

ValueId CpuFrame::unrounded(ValueId value) const {
  const Value& rounded = assembly_[value];
  if (rounded.kind != Value::Kind::Cast || rounded.work != ir::DType::F32)
    throw_internal("a float16 that no float32 was rounded to is stored as one");
  return rounded.operands[0];
}

Body CpuFrame::row(ValueId begin, ValueId end, Body filled) {
  Loop elements{Loop::Kind::Simd, element_index_, begin, end, std::move(element_)};
  if (checks_elements_) elements.maximum = bad_;
  elements.lanes = context_.schedule.simd;
  Body body = std::move(pointers_);
  append(body, std::move(filled));
  append(body, std::move(row_));
  append(body, around(std::move(elements)));
  return body;
}

void CpuFrame::report_bad() {
  Kernel& kernel = assembly_.kernel;
  kernel.before.push_back({Declare{bad_, assembly_.whole(0)}});
  const ValueId status = assembly_.add({.kind = Value::Kind::Target,
                                        .type = {ir::DType::I32},
                                        .operands = {assembly_.read(memory_.status())},
                                        .naming = Value::Naming::Inline});
  kernel.after.push_back(
      {If{assembly_.index(IndexOp::NotEqual, bad(), assembly_.whole(0)), {{Assign{status, bad()}}}}});
}

}  // namespace ingot::codegen
