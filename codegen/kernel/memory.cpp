#include "codegen/kernel/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;
using ParameterKind = KernelParameter::Kind;

/// Distinguishes several pointers into one tensor: by the constant coordinate in which they differ (table[0, t] and
/// table[1, t] become table_0 and table_1), otherwise by counting.
std::vector<int64_t> numbers_of(const KernelContext& context, const std::vector<uint32_t>& accesses) {
  const ir::HostPool& host = context.graph.host;
  const auto offset = [&](uint32_t a, size_t d) { return context.outline.accesses[a].access.offsets[d]; };
  std::vector<int64_t> numbers;
  for (size_t d = 0; d < context.outline.accesses[accesses[0]].access.offsets.size(); ++d) {
    const auto same = [&](uint32_t a) { return offset(a, d) == offset(accesses[0], d); };
    if (std::ranges::all_of(accesses, same)) continue;
    const auto constant = [&](uint32_t a) {
      return host.is_constant(offset(a, d)) && host.value(offset(a, d)).as_int() >= 0;
    };
    if (!numbers.empty() || !std::ranges::all_of(accesses, constant)) {
      numbers.clear();
      break;
    }
    for (const uint32_t a : accesses) numbers.push_back(host.value(offset(a, d)).as_int());
  }
  if (numbers.empty())
    for (size_t count = 0; count < accesses.size(); ++count) numbers.push_back(static_cast<int64_t>(count));
  return numbers;
}

std::string numbered(const std::string& name, uint32_t number, size_t count) {
  return count == 1 ? name : name + std::to_string(number);
}

}  // namespace

Memory::Memory(const KernelContext& context, Assembly& assembly) : context_(context), assembly_(assembly) {
  name_tensors();
  name_scalars();
  claim_author_names();
}

// Names

/// The name of the pointer from which a value is loaded.
const std::string& Memory::pointer_name(ValueId load) const {
  ValueId base = assembly_[load].operands[0];
  // A pointer to a row is computed from the tensor's pointer.
  while (!assembly_[base].symbol) base = assembly_[base].operands[0];
  return assembly_[assembly_[base].symbol].name;
}

const std::string& Memory::tensor_name(uint32_t access) const {
  static const std::string kPosition = "position";
  if (!use(access).has_tensor()) return kPosition;
  const uint32_t tensor = use(access).tensor;
  if (use(access).in_workspace) return workspace_names_.at(tensor);
  return use(access).kind == Kind::Store ? context_.graph.results[tensor].name : context_.graph.params[tensor].name;
}

void Memory::name_tensors() {
  const size_t count = context_.outline.accesses.size();
  pointers_.resize(count);
  for (const AccessUse& access : context_.outline.accesses)
    if (access.in_workspace) workspace_names_[access.tensor] = "workspace";
  for (uint32_t a = 0; a < count; ++a) {
    if (!use(a).has_tensor() || layout(a).leader != a || pointers_[a]) continue;
    std::vector<uint32_t> leaders;
    for (uint32_t b = a; b < count; ++b) {
      const bool is_same_tensor = use(b).has_tensor() && use(b).tensor == use(a).tensor &&
                                  use(b).in_workspace == use(a).in_workspace &&
                                  (use(b).kind == Kind::Store) == (use(a).kind == Kind::Store);
      if (is_same_tensor && layout(b).leader == b) leaders.push_back(b);
    }
    const std::vector<int64_t> numbers = numbers_of(context_, leaders);
    for (size_t l = 0; l < leaders.size(); ++l) {
      const std::string& name = tensor_name(a);
      pointers_[leaders[l]] = assembly_.parameter({ParameterKind::Pointer, leaders[l], 0, ir::DType::I64, {}},
                                                  {.dtype = type_in_memory(leaders[l]), .is_pointer = true},
                                                  leaders.size() == 1 ? name : fmt::format("{}_{}", name, numbers[l]));
    }
  }
  const std::vector<ir::NodeId> nodes = nodes_of_accesses(context_.graph, context_.outline);
  if (nodes.size() != count) throw_internal("an access belongs to no node");
  for (uint32_t a = 0; a < count; ++a)
    if (use(a).has_tensor()) assembly_[pointer(a)].nodes.push_back(nodes[a]);
}

/// A scalar parameter keeps its name; a value computed from scalars gets the author's name, or s1, s2, …
void Memory::name_scalars() {
  const ir::Graph& graph = context_.graph;
  std::vector<std::string> params;
  for (const ir::Param& param : graph.params) params.push_back(param.name);
  for (uint32_t s = 0; s < context_.outline.scalars.size(); ++s) {
    const ScalarUse& use = context_.outline.scalars[s];
    std::string name;
    for (const ir::NodeId id : nodes_of(graph, context_.outline))
      if (graph[id].op == ir::Op::Scalar && graph.host_of(id) == use.value && !graph.names(id).empty() && name.empty())
        name = graph.names(id)[0];
    const ir::HostNode& host = graph.host[use.value];
    if (host.op == ir::HostOp::Scalar) name = graph.params[host.a].name;
    const SymbolId symbol = assembly_.parameter({ParameterKind::Scalar, s, 0, use.dtype, {}}, {use.dtype},
                                                name.empty() ? fmt::format("s{}", s + 1) : name);
    const std::string formula = graph.host.print(use.value, params);
    if (formula != assembly_[symbol].name) assembly_[symbol].meaning = formula;
    scalars_.push_back(symbol);
  }
}

/// Claims the author's names of values; a parameter's name already belongs to its pointer.
void Memory::claim_author_names() {
  const ir::Graph& graph = context_.graph;
  for (const ir::NodeId id : nodes_of(graph, context_.outline)) {
    if (graph.names(id).empty() || graph[id].op == ir::Op::Scalar) continue;
    const std::string& name = graph.names(id)[0];
    const bool is_param = graph[id].op == ir::Op::Load && !graph.reduction_read(id) &&
                          graph.params[graph.access(id).source.index].name == name;
    if (!is_param) author_names_[id] = assembly_.claim(name);
  }
}

std::string Memory::author_name(ir::NodeId node) const {
  const auto entry = author_names_.find(node);
  return entry == author_names_.end() ? "" : entry->second;
}

std::string Memory::vector_name(uint32_t access, uint32_t width) const {
  const std::string& name = assembly_[pointer(access)].name;
  const bool ends_in_digit = name.back() >= '0' && name.back() <= '9';
  return fmt::format("{}{}{}", name, ends_in_digit ? "_" : "", width);
}

const GroupVector* Memory::group_vector_of(uint32_t access) const {
  const uint32_t neighbour = layout(access).neighbour;
  for (const GroupVector& group_vector : context_.schedule.accesses[layout(access).leader].group_vectors)
    if (group_vector.width > 1 && neighbour >= group_vector.first &&
        neighbour < group_vector.first + group_vector.width)
      return &group_vector;
  return nullptr;
}

ValueId Memory::vector(uint32_t leader, const GroupVector& group_vector, Level level) {
  return assembly_.add({.kind = Value::Kind::Vector,
                        .type = {type_in_memory(leader), group_vector.width},
                        .operands = {space_->base(leader), index(leader, level, group_vector.first)},
                        .naming = Value::Naming::Inline});
}

Statement Memory::store_vector(uint32_t leader, const GroupVector& group_vector, std::vector<ValueId> members) {
  const Type type{type_in_memory(leader), group_vector.width};
  const ValueId base = space_->base(leader), at = index(leader, Level::Element, group_vector.first);
  const auto inline_value = [&](Value::Kind kind, std::vector<ValueId> operands) {
    return assembly_.add(
        {.kind = kind, .type = type, .operands = std::move(operands), .naming = Value::Naming::Inline});
  };
  if (group_vector.width == 1) return {Assign{inline_value(Value::Kind::Load, {base, at}), members[0]}};
  return {StoreVector{base, at, inline_value(Value::Kind::Pack, std::move(members))}};
}

std::string Memory::group_vector_name(uint32_t leader, const GroupVector& group_vector) const {
  if (context_.schedule.accesses[leader].group_vectors.size() == 1) return vector_name(leader, group_vector.width);
  std::string name = assembly_[pointer(leader)].name + "_";
  for (uint32_t k = 0; k < group_vector.width; ++k) name += std::to_string(group_vector.first + k);
  return name;
}

// Parameters

uint32_t Memory::stride_owner(uint32_t access) const {
  const uint32_t leader = layout(access).leader;
  if (leader < access) return stride_owner(leader);
  for (uint32_t b = 0; b < access; ++b) {
    const AccessUse &a_use = use(access), &b_use = use(b);
    if (b_use.kind == a_use.kind && b_use.tensor == a_use.tensor && b_use.in_workspace == a_use.in_workspace &&
        b_use.access.dims == a_use.access.dims && b_use.access.indirect == a_use.access.indirect &&
        layout(b).axes == layout(access).axes && layout(b).is_linear == layout(access).is_linear)
      return b;
  }
  return access;
}

SymbolId Memory::size_parameter(ParameterKind kind, uint32_t a, uint32_t b, ir::DType dtype, const std::string& name,
                                const std::string& of) {
  const SymbolId symbol = assembly_.parameter({kind, a, b, dtype, {}}, {dtype}, name);
  assembly_[symbol].meaning = of;
  return symbol;
}

ValueId Memory::stride(uint32_t access, uint32_t axis) {
  if (const uint8_t step = layout(access).inner_step; step != 0 && axis + 1 == context_.rank())
    return assembly_.integer(step);
  const uint32_t owner = stride_owner(access);
  return assembly_.read(size_parameter(ParameterKind::Stride, owner, axis, context_.index_dtype(),
                                       numbered(tensor_name(owner) + "_stride", axis, context_.rank())));
}

SymbolId Memory::gather_stride(uint32_t access, uint32_t coordinate) {
  const uint32_t owner = stride_owner(access);
  return size_parameter(ParameterKind::GatherStride, owner, coordinate, context_.index_dtype(),
                        numbered(tensor_name(owner) + "_step", coordinate, use(owner).access.indirect.size()));
}

SymbolId Memory::gather_extent(uint32_t access, uint32_t coordinate) {
  const uint32_t owner = stride_owner(access);
  return size_parameter(ParameterKind::GatherExtent, owner, coordinate, context_.index_dtype(),
                        numbered(tensor_name(owner) + "_size", coordinate, use(owner).access.indirect.size()));
}

SymbolId Memory::extent(uint32_t axis) {
  return size_parameter(ParameterKind::Extent, 0, axis, context_.extent_dtype(), fmt::format("n{}", axis),
                        fmt::format("extent of i{}", axis));
}

SymbolId Memory::numel() { return size_parameter(ParameterKind::Numel, 0, 0, context_.index_dtype(), "n", "elements"); }

ValueId Memory::coordinate_of(ValueId index, uint32_t first, uint32_t last, uint32_t axis, Division division) {
  const bool shares_reciprocal = division != Division::Plain && context_.cuda() && context_.schedule.index_bits == 32;
  const IndexOp divide = !shares_reciprocal                      ? IndexOp::Div
                         : division == Division::ShortReciprocal ? IndexOp::ShortDiv
                                                                 : IndexOp::RepeatedDiv,
                remainder = shares_reciprocal ? IndexOp::RepeatedRem : IndexOp::Rem;
  for (uint32_t d = last; d-- > axis + 1;) index = assembly_.index(divide, index, assembly_.read(extent(d)));
  return axis == first ? index : assembly_.index(remainder, index, assembly_.read(extent(axis)));
}

SymbolId Memory::status() {
  const SymbolId symbol = assembly_.parameter({ParameterKind::Status, 0, 0, ir::DType::I64, {}},
                                              {.dtype = ir::DType::I32, .is_pointer = true}, "status");
  assembly_[symbol].meaning = "error code";
  return symbol;
}

// Elements

bool Memory::varies(uint32_t access) const {
  const std::vector<StrideClass>& axes = layout(access).axes;
  return std::any_of(axes.begin() + space_->first_inner_axis(), axes.end(),
                     [](StrideClass stride) { return stride != StrideClass::Zero; });
}

ir::DType Memory::type_in_memory(uint32_t access) const {
  const bool is_byte = use(access).dtype == ir::DType::Bool && use(access).kind != Kind::Store;
  return is_byte ? ir::DType::U8 : use(access).dtype;
}

std::vector<ValueId> Memory::terms(uint32_t access, Level level, uint32_t first_axis) {
  std::vector<ValueId> terms;
  for (uint32_t d = first_axis; d < context_.rank(); ++d) {
    const StrideClass stride_class = layout(access).axes[d];
    if (stride_class == StrideClass::Zero) continue;
    const ValueId coordinate = space_->coordinate(d, level);
    terms.push_back(stride_class == StrideClass::One ? coordinate
                                                     : assembly_.index(IndexOp::Mul, coordinate, stride(access, d)));
  }
  return terms;
}

bool Memory::is_linear(uint32_t access) const { return context_.rank() > 1 && layout(access).is_linear; }

ValueId Memory::index(uint32_t access, Level level, uint32_t neighbour, const std::vector<ValueId>& gathered) {
  const bool uses_linear = is_linear(access) && space_->has_linear();
  std::vector<ValueId> all =
      uses_linear ? std::vector{space_->linear(level)} : terms(access, level, space_->first_axis(access));
  if (neighbour != 0) all.push_back(assembly_.integer(neighbour));
  for (uint32_t l = 0; l < gathered.size(); ++l)
    all.push_back(assembly_.index(IndexOp::Mul, gathered[l], assembly_.read(gather_stride(access, l))));
  return assembly_.sum(all);
}

ValueId Memory::zero_of(uint32_t access) {
  const ir::DType dtype = type_in_memory(access), compute_dtype = ir::compute_type(dtype);
  const ir::HostValue zero = ir::is_floating(compute_dtype) ? ir::HostValue::of(0.0) : ir::HostValue::of(int64_t{0});
  const ValueId literal = assembly_.add(
      {.kind = Value::Kind::Literal, .type = {compute_dtype}, .number = zero, .naming = Value::Naming::Inline});
  if (compute_dtype == dtype) return literal;
  return assembly_.add({.kind = Value::Kind::Cast,
                        .type = {dtype},
                        .operand_type = compute_dtype,
                        .operands = {literal},
                        .naming = Value::Naming::Inline});
}

ValueId Memory::load(uint32_t access, Level level, const std::vector<ValueId>& gathered, ValueId condition) {
  if (layout(access).is_empty) return zero_of(access);
  // A load must not move past a store that may change the loaded element.
  const bool may_be_overwritten = context_.layout.results_alias && context_.outline.output_blocks.size() > 1;
  // In a lambda, GCC takes the parenthesis of `(float(float16(float(x[i]) + y))) * z` for a cast. A named value avoids
  // that.
  const bool in_lambda = context_.outline.reduces() && !context_.cuda() && ir::is_narrow_float(use(access).dtype);
  std::vector<ValueId> operands = {space_->base(access), index(access, level, layout(access).neighbour, gathered)};
  if (condition) operands.push_back(condition);
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {type_in_memory(access)},
                        .operands = std::move(operands),
                        .naming = may_be_overwritten || in_lambda ? Value::Naming::Placed : Value::Naming::Auto,
                        .name = assembly_[pointer(access)].name + (varies(access) ? space_->suffix() : "_value")});
}

ValueId Memory::element_lvalue(uint32_t access, Level level) {
  return assembly_.add({.kind = Value::Kind::Load,
                        .type = {type_in_memory(access)},
                        .operands = {space_->base(access), index(access, level, layout(access).neighbour)},
                        .naming = Value::Naming::Inline});
}

ValueId Memory::wrap_index(uint32_t access, uint32_t coordinate, ValueId index, ValueId error,
                           ValueId entry_condition) {
  const Value& from = assembly_[index];
  const bool has_author_name = from.naming == Value::Naming::Author || from.naming == Value::Naming::Exact;
  const bool is_element = from.kind == Value::Kind::Load && !has_author_name;
  const std::string name = is_element ? pointer_name(index) : has_author_name ? from.name : "index";
  Value value{.kind = error ? Value::Kind::Check : Value::Kind::Wrap,
              .type = {context_.index_dtype()},
              .operands = {index, assembly_.read(gather_extent(access, coordinate))},
              // A check must be a statement: inlined in a `? :`, it could be skipped.
              .naming = error ? Value::Naming::Placed : Value::Naming::Auto,
              .name = name + "_wrapped"};
  if (error) {
    value.operands.push_back(error);
    if (entry_condition) value.operands.push_back(entry_condition);
    value.number = ir::HostValue::of(int64_t{stride_owner(access)} + 1);
  }
  return assembly_.add(std::move(value));
}

std::optional<ValueId> Memory::position(uint32_t access, Level level) {
  if (is_linear(access) && space_->linear_spans_domain()) return space_->linear(level);
  const std::vector<ValueId> all = terms(access, level, 0);
  if (all.empty()) return std::nullopt;
  return assembly_.sum(all);
}

void Memory::describe_pointers() {
  for (uint32_t a = 0; a < pointers_.size(); ++a) {
    if (!pointers_[a]) continue;
    const std::vector<StrideClass>& axes = layout(a).axes;
    std::vector<Symbol::Term> place;
    for (uint32_t d = 0; d < axes.size(); ++d)
      if (axes[d] != StrideClass::Zero)
        place.push_back(
            {space_->coordinate(d, space_->level_of_names()), axes[d] == StrideClass::One ? ValueId{} : stride(a, d)});
    for (uint32_t l = 0; l < use(a).access.indirect.size(); ++l)
      place.push_back({{}, assembly_.read(gather_stride(a, l))});
    Symbol& symbol = assembly_[pointers_[a]];
    symbol.is_contiguous = layout(a).is_linear && use(a).kind != Kind::Gather;
    symbol.is_bool = use(a).dtype == ir::DType::Bool;
    symbol.is_written = use(a).kind == Kind::Store;
    symbol.index_terms = std::move(place);
    for (const AccessLayout& member : context_.layout.accesses)
      if (member.leader == a) symbol.neighbours = std::max(symbol.neighbours, member.neighbour);
  }
}

}  // namespace ingot::codegen
