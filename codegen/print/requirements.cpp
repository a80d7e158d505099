#include "codegen/print/requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace ingot::codegen {
namespace {

using Kind = KernelParameter::Kind;

}  // namespace

/// Adds a requirement to the last group, unless it was stated before.
void Requirements::add(std::string requirement) {
  if (stated_.insert(requirement).second) groups.back().push_back(std::move(requirement));
}

void Requirements::add_equation(ir::HostId a, ir::HostId b) {
  if (!formulas_.pool.same(a, b)) add(fmt::format("{} == {}", formulas_.text(a), formulas_.text(b)));
}

void Requirements::add_conditions(std::span<const ir::SizesAndStrides> params) {
  groups.emplace_back();
  for (const ir::Condition& condition : graph_.conditions) add_condition(condition);
  for (const ir::Static& known : graph_.statics)
    add(fmt::format("{} == {}", formulas_.print(known.symbol), formulas_.print(formulas_.pool.constant(known.value))));
  for (const ir::HostId symbol : graph_.unspecialized)
    add(formulas_.pool[symbol].op == ir::HostOp::Size
            ? fmt::format("{} > {}", formulas_.print(symbol), ir::kSpecializedSize)
            : fmt::format("{} != 0", formulas_.print(symbol)));
  if (!graph_.aliases.empty()) add_same_views(params);
}

void Requirements::add_condition(const ir::Condition& condition) {
  using ConditionKind = ir::Condition::Kind;
  if (formulas_.pool.is_constant(condition.a) && formulas_.pool.is_constant(condition.b)) return;
  const std::string a = formulas_.print(condition.a), b = formulas_.print(condition.b);
  switch (condition.kind) {
    case ConditionKind::Equal:
      return add(fmt::format("{} == {}", a, b));
    case ConditionKind::Broadcasts:
      return add(fmt::format("{0} == {1} or {0} == 1 or {1} == 1", a, b));
    case ConditionKind::InRange:
      return add(fmt::format("0 <= {} < {}", a, b));
    case ConditionKind::NonNegative:
    case ConditionKind::Affordable:
      return add(fmt::format("{} >= 0", a));
    case ConditionKind::True:
      return add(a);
    case ConditionKind::NonEmpty:
      return add(fmt::format("{} > 0 or {} == 0", a, b));
    case ConditionKind::RaisesNothing:
    case ConditionKind::GradientsExist:
      return;
  }
}

/// Lowering decided from the call's sizes and strides whether views share memory.
void Requirements::add_same_views(std::span<const ir::SizesAndStrides> params) {
  for (size_t p = 0; p < params.size(); ++p) {
    const std::string& name = graph_.params[p].name;
    for (size_t d = 0; d < params[p].sizes.size(); ++d) {
      add(fmt::format("{}.size({}) == {}", name, d, params[p].sizes[d]));
      add(fmt::format("{}.stride({}) == {}", name, d, params[p].strides[d]));
    }
  }
}

void Requirements::add_tensors(const std::vector<KernelParameter>& parameters) {
  std::vector<std::string> names, written_names;
  for (const KernelParameter& parameter : parameters) {
    if (parameter.kind != Kind::Pointer) continue;
    const AccessUse& use = kernel_.outline.accesses[parameter.a];
    const bool is_result = use.kind == AccessUse::Kind::Store;
    if (is_scratch(graph_, use)) continue;
    const TensorFormulas& tensor = formulas_.tensor_of(use);
    if (is_result && std::ranges::count(written_names, tensor.name) == 0) written_names.push_back(tensor.name);
    if (std::ranges::count(names, tensor.name) > 0) continue;
    names.push_back(tensor.name);
    add_tensor(tensor, is_result);
  }
  groups.emplace_back();
  for (const std::string& written : written_names) {
    std::erase(names, written);
    if (!names.empty()) add(fmt::format("no_overlap({}, {})", written, fmt::join(names, ", ")));
  }
}

void Requirements::add_tensor(const TensorFormulas& tensor, bool is_result) {
  groups.emplace_back();
  add(fmt::format("{}.dtype == {}", tensor.name, ir::short_name(tensor.dtype)));
  add(fmt::format("{}.dim() == {}", tensor.name, tensor.sizes.size()));
  for (size_t d = 0; d < tensor.sizes.size(); ++d) {
    const std::string size = fmt::format("{}.size({})", tensor.name, d),
                      text = formulas_.print(formulas_.pool.resolve(tensor.sizes[d]));
    if ((is_result || formulas_.pool.is_constant(tensor.sizes[d])) && text != size)
      add(fmt::format("{} == {}", size, text));
  }
  for (const std::string& text : tensor.stride_requirements) add(text);
  for (uint32_t a = 0; a < kernel_.outline.accesses.size(); ++a) {
    const AccessUse& use = kernel_.outline.accesses[a];
    const AccessLayout& access = kernel_.layout.accesses[a];
    if (!use.has_tensor() || use.in_workspace || access.leader != a || formulas_.tensor_of(use).name != tensor.name)
      continue;
    if (access.alignment > ir::size_of(use.dtype))
      add(fmt::format("aligned({}, {})", formulas_.address(tensor.name, kernel_.formulas.accesses[a].offset),
                      access.alignment));
    if (access.is_empty) add(fmt::format("{}.numel() == 0", tensor.name));
  }
}

void Requirements::add_sizes() {
  groups.emplace_back();
  for (const auto& [a, b] : kernel_.formulas.equations) add_equation(a, b);
  for (uint32_t a = 0; a < kernel_.layout.accesses.size(); ++a) add_strides(a);
  if (kernel_.layout.reduces) add_length();
  add_elements();
  add_multiples();
}

void Requirements::add_strides(uint32_t a) {
  ir::HostPool& pool = formulas_.pool;
  const AccessLayout& access = kernel_.layout.accesses[a];
  const AccessFormulas& formulas = kernel_.formulas.accesses[a];
  ir::HostId contiguous = pool.integer(1);
  for (size_t d = access.axes.size(); d-- > 0;) {
    if (access.axes[d] != StrideClass::Other)
      add_equation(formulas.strides[d], pool.integer(access.axes[d] == StrideClass::One ? 1 : 0));
    if (access.is_linear) add_equation(formulas.strides[d], contiguous);
    contiguous = pool.mul(contiguous, kernel_.formulas.extents[d]);
  }
  if (access.inner_step != 0) add_equation(formulas.strides.back(), pool.integer(access.inner_step));
  if (access.leader == a) return;
  const AccessFormulas& leader = kernel_.formulas.accesses[access.leader];
  add_equation(pool.sub(formulas.offset, leader.offset), pool.integer(access.neighbour));
  for (size_t d = 0; d < formulas.strides.size(); ++d) add_equation(formulas.strides[d], leader.strides[d]);
}

void Requirements::add_length() {
  const ir::HostId length =
      formulas_.pool.product(std::span(kernel_.formulas.extents).last(kernel_.layout.reduced_axes));
  if (formulas_.pool.is_constant(length)) return;
  const std::string text = formulas_.text(length);
  if (kernel_.layout.has_empty_rows) return add(fmt::format("{} == 0", text));
  const auto [most, least] = lengths_of(kernel_.layout);
  add(most <= least + 1 ? fmt::format("{} == {}", text, most) : fmt::format("{} < {} <= {}", least, text, most));
}

/// There are elements, and all indices and offsets fit in the kernel's integers.
void Requirements::add_elements() {
  ir::HostPool& pool = formulas_.pool;
  const ir::HostId numel = kernel_.formulas.numel;
  if (kernel_.layout.has_empty_rows || pool.is_constant(pool.resolve(numel))) return;
  if (kernel_.layout.index_bits != 32) return add(fmt::format("{} >= 1", formulas_.text(numel)));
  add(fmt::format("1 <= {} <= {}", formulas_.text(numel), most_elements32(kernel_.layout.reduced_axes)));
  for (uint32_t a = 0; a < kernel_.formulas.accesses.size(); ++a) {
    const auto [lowest, end] = reach(a);
    if (!is_product_of_extents(end, a)) add_limit(end);
    add_limit(pool.sub(pool.integer(0), lowest));
  }
}

void Requirements::add_limit(ir::HostId elements) {
  if (!formulas_.pool.is_constant(elements)) add(fmt::format("{} <= {}", formulas_.text(elements), kMostIndex32));
}

std::pair<ir::HostId, ir::HostId> Requirements::reach(uint32_t a) {
  ir::HostPool& pool = formulas_.pool;
  const AccessFormulas& formulas = kernel_.formulas.accesses[a];
  const AccessGeometry& geometry = kernel_.geometry.accesses[a];
  ir::HostId lowest = pool.integer(0), end = pool.integer(1);
  const auto add_distance = [&](ir::HostId stride, int64_t value, ir::HostId extent) {
    ir::HostId& side = value < 0 ? lowest : end;
    side = pool.add(side, pool.mul(stride, pool.sub(extent, pool.integer(1))));
  };
  for (size_t d = 0; d < formulas.strides.size(); ++d)
    add_distance(formulas.strides[d], geometry.strides[d], kernel_.formulas.extents[d]);
  for (size_t g = 0; g < formulas.gather_strides.size(); ++g)
    add_distance(formulas.gather_strides[g], geometry.gather_strides[g], formulas.gather_extents[g]);
  return {lowest, end};
}

/// Whether the number of elements is a product of extents, so that it is not larger than that of the domain.
bool Requirements::is_product_of_extents(ir::HostId elements, uint32_t a) {
  ir::HostId product = formulas_.pool.integer(1);
  for (size_t d = 0; d < kernel_.formulas.extents.size(); ++d)
    if (kernel_.layout.accesses[a].axes[d] != StrideClass::Zero)
      product = formulas_.pool.mul(product, kernel_.formulas.extents[d]);
  return formulas_.pool.same(elements, product);
}

/// Sizes and strides keep vectors whole and aligned.
void Requirements::add_multiples() {
  ir::HostPool& pool = formulas_.pool;
  const KernelLayout& layout = kernel_.layout;
  std::map<ir::HostId, int64_t> multiples;
  const auto require = [&](ir::HostId id, int64_t multiple) {
    int64_t& known = multiples[pool.resolve(id)];
    known = std::max(known, multiple);
  };
  const std::vector<ir::HostId>& extents = kernel_.formulas.extents;
  if (layout.rank > 1 || (layout.reduces && layout.rank > 0)) {
    if (kernel_.target.cuda()) require(extents.back(), layout.inner_multiple);
    require(extents.back(), layout.reduced_axis_multiple);
  }
  if (const uint32_t row_axes = layout.rank - layout.reduced_axes; layout.reduces && row_axes > 0)
    require(extents[row_axes - 1], layout.row_axis_multiple);
  for (uint32_t a = 0; a < layout.accesses.size(); ++a) {
    const AccessLayout& access = layout.accesses[a];
    const int64_t multiple = access.alignment / ir::size_of(kernel_.outline.accesses[a].dtype);
    if (!kernel_.outline.accesses[a].has_tensor() || multiple <= 1) continue;
    for_each_aligned_stride(access, kernel_.formulas.accesses[a],
                            [&](ir::HostId stride) { require(stride, multiple); });
  }
  for (const auto& [id, multiple] : multiples)
    if (multiple > 1 && !pool.is_constant(id))
      add(fmt::format("{} % {} == 0", as_operand(formulas_.text(id)), multiple));
}

}  // namespace ingot::codegen
