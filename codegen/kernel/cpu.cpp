#include <fmt/format.h>

#include <algorithm>

#include "codegen/kernel/computation.h"
#include "codegen/kernel/memory.h"
#include "codegen/kernel/targets.h"

// A call computes the elements [begin, end) of the domain: in one loop that the compiler makes vectors of, or, where
// there are several axes, in such a loop for each row that the range touches; the first and the last may be touched in
// part.

namespace ingot::codegen {
namespace {

class Cpu : public Space, public Access {
 public:
  explicit Cpu(const KernelContext& context)
      : context_(context),
        assembly_(context),
        memory_(context, assembly_),
        inner_axis_(std::max(context.rank(), 1u) - 1) {
    memory_.set_space(*this);
    assembly_.place({Level::Kernel, Level::Row, Level::Thread}, row_);
    assembly_.place({Level::Fetch, Level::Element}, element_);
    linear_ = assembly_.variable("i", {ir::DType::I64}, has_rows() ? Level::Row : Level::Element);
    element_index_ =
        has_rows() ? assembly_.variable(fmt::format("i{}", inner_axis_), {ir::DType::I64}, Level::Element) : linear_;
  }

  Kernel build() {
    Kernel& kernel = assembly_.kernel;
    kernel.begin = assembly_.variable("begin", {ir::DType::I64}, Level::Kernel);
    kernel.end = assembly_.variable("end", {ir::DType::I64}, Level::Kernel);
    kernel.arguments = assembly_.variable("arguments", {}, Level::Kernel);
    if (has_rows()) start_rows();
    const std::vector<ValueId> results = compute(context_, assembly_, memory_, *this);
    const auto first_store = static_cast<uint32_t>(context_.outline.accesses.size() - results.size());
    for (uint32_t r = 0; r < results.size(); ++r)
      element_.push_back({Assign{memory_.target(first_store + r, Level::Element), results[r]}});
    assemble();
    memory_.describe_pointers();
    return assembly_.finish(context_);
  }

  // Space

  ValueId linear(Level) override { return assembly_.read(element_index_); }
  ValueId coordinate(uint32_t axis, Level) override {
    return axis == inner_axis_ ? assembly_.read(element_index_) : row_coordinate(axis);
  }
  ValueId base(uint32_t access) override;
  uint32_t first_axis() const override { return inner_axis_; }
  uint32_t first_inner_axis() const override { return inner_axis_; }
  Level level_of_names() const override { return Level::Element; }
  std::string suffix() override { return "_" + assembly_[element_index_].name; }

  // Access

  ValueId load(uint32_t access) override { return memory_.load(access, Level::Element); }
  ValueId gather(uint32_t access, const std::vector<ValueId>& indices) override {
    std::vector<ValueId> leads;
    for (uint32_t l = 0; l < indices.size(); ++l) {
      leads.push_back(memory_.wrap(access, l, indices[l], bad()));
      checks_elements_ |= assembly_[leads.back()].level == Level::Element;
    }
    return memory_.load(access, Level::Element, leads);
  }
  std::optional<ValueId> position(uint32_t access) override { return memory_.position(access, Level::Element); }
  ValueId divisor(ValueId value, uint32_t division) override;

 private:
  bool has_rows() const { return context_.rank() > 1; }
  void start_rows();
  ValueId row_coordinate(uint32_t axis);
  /// The code of what went wrong, if anything did.
  ValueId bad();
  void assemble();

  const KernelContext& context_;
  Assembly assembly_;
  Memory memory_;
  uint32_t inner_axis_;
  SymbolId linear_, element_index_, bad_;
  ValueId first_, last_, row_index_;
  bool checks_elements_ = false;
  std::map<uint32_t, ValueId> coordinates_;
  std::map<uint32_t, Body> coordinate_lets_;
  std::map<uint32_t, ValueId> row_pointers_;
  Body indices_, pointers_, row_, element_;
};

void Cpu::start_rows() {
  const ValueId i = assembly_.read(linear_), length = assembly_.read(memory_.extent(inner_axis_));
  first_ = assembly_.let(indices_, assembly_.index(IndexOp::Rem, i, length), assembly_.claim("first"));
  const ValueId left = assembly_.index(IndexOp::Sub, assembly_.read(assembly_.kernel.end), i);
  last_ = assembly_.let(indices_, assembly_.index(IndexOp::Min, assembly_.index(IndexOp::Add, first_, left), length),
                        assembly_.claim("last"));
  row_index_ = assembly_.let(indices_, assembly_.index(IndexOp::Sub, i, first_), assembly_.claim("row"));
}

ValueId Cpu::row_coordinate(uint32_t axis) {
  ValueId& known = coordinates_[axis];
  if (known) return known;
  ValueId value = assembly_.read(linear_);
  for (uint32_t d = inner_axis_; d > axis; --d)
    value = assembly_.index(IndexOp::Div, value, assembly_.read(memory_.extent(d)));
  if (axis > 0) value = assembly_.index(IndexOp::Rem, value, assembly_.read(memory_.extent(axis)));
  return known = assembly_.let(coordinate_lets_[axis], value, assembly_.claim(fmt::format("i{}", axis)));
}

ValueId Cpu::base(uint32_t access) {
  const SymbolId pointer = memory_.pointer(access);
  const uint32_t leader = context_.layout.accesses[access].leader;
  const AccessLayout& layout = context_.layout.accesses[leader];
  ValueId& known = row_pointers_[leader];
  if (known) return known;
  ValueId value = assembly_.read(pointer);
  if (has_rows() && layout.linear) {
    value = assembly_.index(IndexOp::Add, value, row_index_);
  } else {
    for (uint32_t d = 0; d < inner_axis_; ++d) {
      if (layout.axes[d] == StrideClass::Zero) continue;
      ValueId step = row_coordinate(d);
      if (layout.axes[d] != StrideClass::One) step = assembly_.index(IndexOp::Mul, step, memory_.stride(leader, d));
      value = assembly_.index(IndexOp::Add, value, step);
    }
  }
  if (assembly_[value].kind == Value::Kind::Index)
    value = assembly_.let(pointers_, value, assembly_.claim(assembly_[pointer].name + "_row"));
  return known = value;
}

ValueId Cpu::bad() {
  if (!bad_) bad_ = assembly_.variable("bad", {ir::DType::I32}, Level::Kernel);
  return assembly_.read(bad_);
}

ValueId Cpu::divisor(ValueId value, uint32_t division) {
  const auto code = static_cast<int64_t>(context_.outline.accesses.size()) + division + 1;
  const ValueId is_zero = assembly_.index(IndexOp::Equal, value, assembly_.whole(0));
  const ValueId next = assembly_.add({.kind = Value::Kind::Primitive,
                                      .type = {ir::DType::I32},
                                      .op = ir::Op::Where,
                                      .work = ir::DType::I32,
                                      .operands = {is_zero, assembly_.whole(code), bad()},
                                      .naming = Value::Naming::Inline});
  const bool is_inner = assembly_[value].level == Level::Element;
  checks_elements_ |= is_inner;
  (is_inner ? element_ : row_).push_back({Assign{bad(), next}});
  return value;
}

void Cpu::assemble() {
  Kernel& kernel = assembly_.kernel;
  const auto append = [](Body& block, Body& more) { std::ranges::move(more, std::back_inserter(block)); };
  const ValueId begin = has_rows() ? first_ : assembly_.read(kernel.begin);
  const ValueId end = has_rows() ? last_ : assembly_.read(kernel.end);
  Loop elements{Loop::Kind::Simd, element_index_, begin, end, std::move(element_)};
  if (checks_elements_) elements.maximum = bad_;
  Body row;
  append(row, indices_);
  for (uint32_t d = inner_axis_; d-- > 0;) append(row, coordinate_lets_[d]);
  append(row, pointers_);
  append(row, row_);
  row.push_back({std::move(elements)});
  if (has_rows()) {
    row.push_back({Advance{linear_, assembly_.index(IndexOp::Sub, last_, first_)}});
    kernel.body.push_back(
        {Loop{Loop::Kind::Rows, linear_, assembly_.read(kernel.begin), assembly_.read(kernel.end), std::move(row)}});
  } else {
    append(kernel.body, row);
  }
  if (!bad_) return;
  kernel.before.push_back({Declare{bad_, assembly_.whole(0)}});
  const ValueId status = assembly_.add({.kind = Value::Kind::Target,
                                        .type = {ir::DType::I32},
                                        .operands = {assembly_.read(memory_.status())},
                                        .naming = Value::Naming::Inline});
  kernel.after.push_back(
      {If{assembly_.index(IndexOp::NotEqual, bad(), assembly_.whole(0)), {{Assign{status, bad()}}}}});
}

}  // namespace

Kernel build_cpu(const KernelContext& context) { return Cpu(context).build(); }

}  // namespace ingot::codegen
