#include "codegen/kernel/cpu/kernel.h"

namespace ingot::codegen {

CpuKernel::CpuKernel(const KernelContext& context)
    : context_(context), assembly_(context), memory_(context, assembly_) {
  memory_.set_space(*this);
  assembly_.set_block({Level::Fetch, Level::Element}, element_);  // there is no separate loop of loads
}

void CpuKernel::begin() {
  Kernel& kernel = assembly_.kernel;
  kernel.begin = assembly_.variable("begin", {ir::DType::I64}, Level::Kernel);
  kernel.end = assembly_.variable("end", {ir::DType::I64}, Level::Kernel);
  kernel.arguments = assembly_.variable("arguments", {}, Level::Kernel);
}

Kernel CpuKernel::finish() {
  if (error_code_) report_error();
  memory_.describe_pointers();
  return assembly_.finish(context_);
}

std::vector<ValueId> CpuKernel::wrap_indices(uint32_t access, const std::vector<ValueId>& indices,
                                             ValueId entry_condition) {
  std::vector<ValueId> wrapped;
  for (uint32_t l = 0; l < indices.size(); ++l) {
    wrapped.push_back(memory_.wrap_index(access, l, indices[l], error_code(), entry_condition));
    checks_elements_ |= is_inner(wrapped.back());
  }
  return wrapped;
}

ValueId CpuKernel::error_code() {
  if (!error_code_) error_code_ = assembly_.variable("bad", {ir::DType::I32}, Level::Kernel);
  return assembly_.read(error_code_);
}

ValueId CpuKernel::checked_divisor(ValueId value, uint32_t division) {
  const auto code = static_cast<int64_t>(context_.outline.accesses.size()) + division + 1;
  const ValueId is_zero = assembly_.index(IndexOp::Equal, value, integer(0));
  const ValueId next = assembly_.add({.kind = Value::Kind::Primitive,
                                      .type = {ir::DType::I32},
                                      .op = ir::Op::Where,
                                      .operand_type = ir::DType::I32,
                                      .operands = {is_zero, integer(code), error_code()},
                                      .naming = Value::Naming::Inline});
  checks_elements_ |= is_inner(value);
  assembly_.block(assembly_[value].level).push_back({Assign{error_code(), next}});
  return value;
}

SymbolId CpuKernel::buffer(uint32_t access, std::string_view suffix, uint32_t elements) {
  const ir::DType dtype = how(access).is_widened ? ir::DType::F32 : memory_.type_in_memory(access);
  const std::string name = assembly_[memory_.pointer(access)].name + std::string(suffix);
  const SymbolId buffer = assembly_.variable(name, {.dtype = dtype, .is_pointer = true}, Level::Row);
  assembly_[buffer].extents = {elements};
  return buffer;
}

ValueId CpuKernel::element_of(SymbolId buffer, uint32_t access, ValueId index) {
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {assembly_[buffer].type.dtype},
                        .operands = {assembly_.read(buffer), index},
                        .name = assembly_[memory_.pointer(access)].name + suffix()});
}

Loop CpuKernel::simd(SymbolId variable, ValueId begin, ValueId end, Body body) {
  Loop loop{Loop::Kind::Simd, variable, begin, end, std::move(body)};
  if (checks_elements_) loop.max_variable = error_code_;  // the vector's elements are combined by maximum
  return loop;
}

void CpuKernel::report_error() {
  Kernel& kernel = assembly_.kernel;
  kernel.before.push_back({Declare{error_code_, integer(0)}});
  const ValueId status = assembly_.add({.kind = Value::Kind::Pointee,
                                        .type = {ir::DType::I32},
                                        .operands = {assembly_.read(memory_.status())},
                                        .naming = Value::Naming::Inline});
  kernel.after.push_back(
      {If{assembly_.index(IndexOp::NotEqual, error_code(), integer(0)), {{Assign{status, error_code()}}}}});
}

}  // namespace ingot::codegen
