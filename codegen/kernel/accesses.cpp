#include "codegen/kernel/accesses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "codegen/target/spellings.h"

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;

const std::string& tensor_name(const KernelContext& context, const AccessUse& use) {
  return use.kind == Kind::Store ? context.graph.results[use.tensor].name : context.graph.params[use.tensor].name;
}

bool is_grouped(const KernelLayout& layout, uint32_t access) {
  return std::ranges::count(layout.accesses, layout.accesses[access].leader, &AccessLayout::leader) > 1;
}

StrideClass inner_class(const KernelLayout& layout, uint32_t access) {
  return layout.rank == 0 ? StrideClass::Zero : layout.accesses[access].axes.back();
}

/// Tells several pointers into one tensor apart: by the constant coordinate that they differ in (table[0, t] and
/// table[1, t] are table_0 and table_1), else by counting.
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

/// What a vector's width is put behind: "x", but "x1_".
std::string vector_base(const std::string& name) {
  return name.back() >= '0' && name.back() <= '9' ? name + "_" : name;
}

/// The type of elements in memory. A bool is read as a byte, since views of other bytes as bool exist.
std::string element_type(const AccessUse& use) {
  const bool as_byte = use.dtype == ir::DType::Bool && use.kind != Kind::Store;
  return std::string(type_name(as_byte ? ir::DType::U8 : use.dtype));
}

}  // namespace

uint32_t choose_lanes(const KernelContext& context, uint32_t cost) {
  if (!context.cuda()) return 1;  // the host's compiler makes its own vectors
  LaneFacts facts{{}, context.layout.rank, context.layout.inner_multiple, cost};
  for (uint32_t a = 0; a < context.outline.accesses.size(); ++a) {
    const AccessUse& use = context.outline.accesses[a];
    if (!use.has_tensor()) continue;
    facts.accesses.push_back({static_cast<uint32_t>(ir::size_of(use.dtype)), inner_class(context.layout, a),
                              context.layout.accesses[a].alignment, use.kind == Kind::Gather,
                              is_grouped(context.layout, a)});
  }
  return lanes_for(facts);
}

Accesses::Accesses(const KernelContext& context, uint32_t lanes, Names& names)
    : context_(context), lanes_(lanes), plans_(context.outline.accesses.size()) {
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    const AccessUse& use = context_.outline.accesses[a];
    const AccessLayout& layout = context_.layout.accesses[a];
    plans_[a].group = layout.leader;
    plans_[a].shift = layout.neighbour;
    plans_[a].moves_inside = inner_class(context_.layout, a) != StrideClass::Zero;
    plans_[a].vector = lanes_ > 1 && plans_[a].moves_inside && (use.kind == Kind::Load || use.kind == Kind::Store);
    plans_[a].linear = context.layout.rank > 1 && layout.linear && use.has_tensor();
  }
  name_tensors(names);
  for (AccessPlan& plan : plans_) plan.pointer = plan.row = plans_[plan.group].pointer;
}

void Accesses::name_tensors(Names& names) {
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    const AccessUse& use = context_.outline.accesses[a];
    if (!use.has_tensor() || plans_[a].group != a || !plans_[a].pointer.empty()) continue;
    std::vector<uint32_t> leaders;
    for (uint32_t b = a; b < plans_.size(); ++b) {
      const AccessUse& other = context_.outline.accesses[b];
      const bool same =
          other.has_tensor() && other.tensor == use.tensor && (other.kind == Kind::Store) == (use.kind == Kind::Store);
      if (same && plans_[b].group == b) leaders.push_back(b);
    }
    const std::string& name = tensor_name(context_, use);
    const std::vector<int64_t> numbers = numbers_of(context_, leaders);
    for (size_t l = 0; l < leaders.size(); ++l)
      plans_[leaders[l]].pointer = names.claim(leaders.size() == 1 ? name : fmt::format("{}_{}", name, numbers[l]));
  }
}

void Accesses::name_the_rest(Names& names) {
  name_axes(names);
  name_strides(names);
  find_chunks();
  name_vectors(names);
}

void Accesses::name_axes(Names& names) {
  const uint32_t rank = context_.layout.rank;
  linear_ = names.claim("i");
  lane_ = names.claim("k");
  if (context_.cuda()) numel_ = names.claim("n");
  if (is_tile()) element_ = names.claim("e");
  const bool gathers = std::ranges::count(context_.outline.accesses, Kind::Gather, &AccessUse::kind) > 0;
  const bool checks =
      context_.cuda() ? gathers && context_.options.check_indices : gathers || !context_.outline.divisions.empty();
  if (checks) status = names.claim("status");
  const Axis::Role inner = context_.cuda() ? Axis::Role::Vector : Axis::Role::Inner;
  const Axis::Role outer = context_.cuda() ? Axis::Role::Grid : Axis::Role::Rows;
  if (rank <= 1) axes_.push_back({inner, linear_, ""});
  for (uint32_t d = 0; rank > 1 && d < rank; ++d)
    axes_.push_back({d + 1 == rank ? inner : outer, names.claim(fmt::format("i{}", d)),
                     d == 0 ? "" : names.claim(fmt::format("n{}", d))});
}

void Accesses::name_strides(Names& names) {
  const uint32_t rank = context_.layout.rank;
  const auto numbered = [&](const std::string& base, size_t number, size_t count) {
    return names.claim(count == 1 ? base : fmt::format("{}{}", base, number));
  };
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    const AccessUse& use = context_.outline.accesses[a];
    const std::vector<StrideClass>& classes = context_.layout.accesses[a].axes;
    const auto alike = std::ranges::find_if(context_.outline.accesses, [&](const AccessUse& other) {
      const auto b = static_cast<uint32_t>(&other - context_.outline.accesses.data());
      return other.kind == use.kind && other.tensor == use.tensor && other.access.dims == use.access.dims &&
             other.access.leads == use.access.leads && context_.layout.accesses[b].axes == classes &&
             plans_[b].linear == plans_[a].linear;
    });
    stride_owner_.push_back(static_cast<uint32_t>(alike - context_.outline.accesses.begin()));
    const uint32_t group = plans_[a].group;
    if (group < a) stride_owner_[a] = stride_owner_[group];
    if (stride_owner_[a] != a) {
      plans_[a].strides = plans_[stride_owner_[a]].strides;
      plans_[a].lead_strides = plans_[stride_owner_[a]].lead_strides;
      plans_[a].lead_extents = plans_[stride_owner_[a]].lead_extents;
      continue;
    }
    const std::string base = use.has_tensor() ? tensor_name(context_, use) : "";
    for (uint32_t d = 0; d < rank; ++d)
      plans_[a].strides.push_back(classes[d] == StrideClass::Zero || plans_[a].linear ? ""
                                  : classes[d] == StrideClass::One                    ? "1"
                                                                   : numbered(base + "_stride", d, rank));
    const size_t leads = use.access.leads.size();
    for (size_t l = 0; l < leads; ++l) {
      plans_[a].lead_extents.push_back(numbered(base + "_size", l, leads));
      plans_[a].lead_strides.push_back(numbered(base + "_step", l, leads));
    }
  }
  if (context_.cuda() || rank < 2) return;
  // On the CPU the inner loop indexes a row.
  if (std::ranges::any_of(plans_, &AccessPlan::linear)) row_ = names.claim("row");
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    AccessPlan& plan = plans_[a];
    const bool moves_outside =
        plan.linear || std::ranges::any_of(plan.strides.begin(), plan.strides.end() - 1,
                                           [](const std::string& stride) { return !stride.empty(); });
    if (!context_.outline.accesses[a].has_tensor() || !moves_outside) continue;
    if (plan.group == a) plan.row = names.claim(plan.pointer + "_row");
  }
  for (AccessPlan& plan : plans_) plan.row = plans_[plan.group].row;
}

void Accesses::find_chunks() {
  chunks_.resize(plans_.size());
  for (uint32_t leader = 0; leader < plans_.size(); ++leader) {
    if (!context_.cuda() || plans_[leader].group != leader || !is_grouped(context_.layout, leader)) continue;
    std::vector<uint32_t> used;
    for (const AccessPlan& plan : plans_)
      if (plan.group == leader) used.push_back(plan.shift);
    std::ranges::sort(used);
    const auto repeats = std::ranges::unique(used);
    used.erase(repeats.begin(), repeats.end());
    const AccessUse& use = context_.outline.accesses[leader];
    chunks_[leader] = chunks_of(used, static_cast<uint32_t>(ir::size_of(use.dtype)),
                                context_.layout.accesses[leader].alignment, use.kind == Kind::Store);
  }
}

void Accesses::name_vectors(Names& names) {
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    if (plans_[a].vector) vectors_[{a, 0}] = names.claim(fmt::format("{}{}", vector_base(plans_[a].pointer), lanes_));
    for (const Chunk& chunk : chunks_[a]) {
      if (chunk.width == 1) continue;
      std::string name = plans_[a].pointer;
      if (chunks_[a].size() == 1) {
        name = vector_base(name) + std::to_string(chunk.width);
      } else {
        name += "_";
        for (uint32_t k = 0; k < chunk.width; ++k) name += std::to_string(chunk.first + k);
      }
      vectors_[{a, chunk.first}] = names.claim(name);
    }
  }
}

Chunk Accesses::chunk_of(uint32_t access) const {
  const AccessPlan& plan = plans_[access];
  for (const Chunk& chunk : chunks_[plan.group])
    if (plan.shift >= chunk.first && plan.shift < chunk.first + chunk.width) return chunk;
  return {plan.shift, 1};
}

std::string Accesses::lane_text(const std::string& index, bool lane) const {
  if (!lane || lanes_ == 1) return index;
  return is_tile() ? element_ : index + " + " + lane_;
}

Let Accesses::element() const {
  return {std::string(type_name(index_dtype())), element_, fmt::format("min({} + {}, {} - 1)", linear_, lane_, numel_)};
}

std::string Accesses::offset(uint32_t access, bool lane) const {
  const AccessPlan& plan = plans_[access];
  std::vector<std::string> terms;
  if (plan.linear) terms.push_back(lane_text(context_.cuda() ? linear_ : inner_name(), lane));
  const size_t first = context_.cuda() || plan.strides.empty() ? 0 : plan.strides.size() - 1;
  for (size_t d = first; d < plan.strides.size(); ++d) {
    if (plan.strides[d].empty()) continue;
    const std::string index = d + 1 == axes_.size() ? lane_text(axes_[d].index, lane) : axes_[d].index;
    if (plan.strides[d] == "1")
      terms.push_back(index);
    else
      terms.push_back((index.find(' ') == std::string::npos ? index : "(" + index + ")") + " * " + plan.strides[d]);
  }
  if (plan.shift != 0) terms.push_back(std::to_string(plan.shift));
  return terms.empty() ? "0" : fmt::format("{}", fmt::join(terms, " + "));
}

Block Accesses::row_pointers(const std::vector<bool>& used) const {
  Block block;
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    const AccessPlan& plan = plans_[a];
    if (plan.group != a || plan.row == plan.pointer || !used[a]) continue;
    std::string value = plan.pointer + (plan.linear ? " + " + row_ : "");
    for (size_t d = 0; d + 1 < plan.strides.size(); ++d)
      if (!plan.strides[d].empty())
        value += " + " + axes_[d].index + (plan.strides[d] == "1" ? "" : " * " + plan.strides[d]);
    block.push_back({Let{"auto", plan.row, value}});
  }
  return block;
}

std::optional<Text> Accesses::coordinate(uint32_t access) const {
  const std::vector<std::string>& strides = plans_[access].strides;
  const auto axis = std::ranges::find(strides, "1");
  if (axis == strides.end()) return std::nullopt;
  const auto d = static_cast<size_t>(axis - strides.begin());
  std::string text = d + 1 == axes_.size() ? lane_text(axes_[d].index, true) : axes_[d].index;
  const bool is_sum = text.find(' ') != std::string::npos;
  return Text{std::move(text), is_sum ? Precedence::Additive : Precedence::Primary};
}

std::string Accesses::shape_comment(uint32_t access) const {
  const AccessPlan& plan = plans_[access];
  const AccessUse& use = context_.outline.accesses[access];
  std::vector<std::string> index;
  for (size_t d = 0; d < plan.strides.size(); ++d)
    if (!plan.strides[d].empty())
      index.push_back(plan.strides[d] == "1" ? axes_[d].index : axes_[d].index + " * " + plan.strides[d]);
  for (size_t l = 0; l < plan.lead_strides.size(); ++l) index.push_back("index * " + plan.lead_strides[l]);
  uint32_t last = 0;
  for (const AccessPlan& member : plans_)
    if (member.group == access) last = std::max(last, member.shift);
  if (last > 0) index.push_back(fmt::format("0..{}", last));

  if (plan.linear) index.insert(index.begin(), linear_);
  const std::string dtype = use.dtype == ir::DType::Bool ? "bool, " : "";
  if (index.empty()) return dtype + "one element";
  if (index.size() == 1 && index[0] == linear_) return dtype + "contiguous";
  return dtype + fmt::format("at {}", fmt::join(index, " + "));
}

ir::DType Accesses::index_dtype() const {
  return context_.cuda() && context_.layout.index_bits == 32 ? ir::DType::I32 : ir::DType::I64;
}

void Accesses::describe_domain(KernelPlan& plan) const {
  plan.index_type = type_name(index_dtype());
  plan.axes = context_.layout.rank == 0 ? std::vector<Axis>{} : axes_;
  plan.linear = linear_;
  plan.numel = context_.layout.rank == 0 ? "" : numel_;
  plan.row = row_;
  plan.lanes = lanes_;
  plan.restrict_pointers = !context_.layout.results_alias;
}

void Accesses::describe_arguments(KernelPlan& plan, const std::vector<std::string>& scalars) const {
  const ir::DType size_type = index_dtype();
  const std::set<std::string, std::less<>> mentioned =
      identifiers(print_block(plan.body, 0) + print_block(plan.after, 0));
  const bool inner_counts = !context_.cuda();  // its extent ends the rows
  for (Axis& axis : plan.axes) axis.used = mentioned.contains(axis.index);

  const auto add = [&](Argument argument, std::string type, std::string comment = {}) {
    const bool is_size = argument.kind == Argument::Kind::Numel || argument.kind == Argument::Kind::Extent;
    if (!is_size && !mentioned.contains(argument.name)) return;
    plan.launch.arguments.push_back(std::move(argument));
    plan.types.push_back(std::move(type));
    plan.comments.push_back(std::move(comment));
  };
  const auto add_pointers = [&](bool stores) {
    std::vector<uint32_t> order(plans_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::less{}, [&](uint32_t a) { return context_.outline.accesses[a].tensor; });
    for (const uint32_t a : order) {
      const AccessUse& use = context_.outline.accesses[a];
      if (!use.has_tensor() || (use.kind == Kind::Store) != stores || plans_[a].group != a) continue;
      add({Argument::Kind::Pointer, a, 0, ir::DType::I64, plans_[a].pointer},
          (stores ? "" : "const ") + element_type(use) + "*", shape_comment(a));
    }
  };
  add_pointers(false);
  for (uint32_t s = 0; s < scalars.size(); ++s) {
    const ScalarUse& use = context_.outline.scalars[s];
    std::vector<std::string> params;
    for (const ir::Param& param : context_.graph.params) params.push_back(param.name);
    const std::string value = context_.graph.host.print(use.value, params);
    add({Argument::Kind::Scalar, s, 0, use.dtype, scalars[s]}, std::string(type_name(use.dtype)),
        value == scalars[s] ? "" : value);
  }
  add_pointers(true);

  const std::string& size_name = plan.index_type;
  if (!plan.numel.empty()) add({Argument::Kind::Numel, 0, 0, size_type, numel_}, size_name, "elements");
  bool needed = false;  // by this axis or one outside it
  for (uint32_t d = 0; d < plan.axes.size(); ++d) {
    needed |= plan.axes[d].used || (inner_counts && d + 1 == plan.axes.size());
    if (needed && d > 0)
      add({Argument::Kind::Extent, 0, d, size_type, axes_[d].extent}, size_name, "of " + axes_[d].index);
  }
  for (uint32_t a = 0; a < plans_.size(); ++a) {
    if (stride_owner_[a] != a || !context_.outline.accesses[a].has_tensor()) continue;
    for (uint32_t d = 0; d < plans_[a].strides.size(); ++d)
      if (plans_[a].strides[d].size() > 1)
        add({Argument::Kind::Stride, a, d, size_type, plans_[a].strides[d]}, size_name);
    for (uint32_t l = 0; l < plans_[a].lead_strides.size(); ++l) {
      add({Argument::Kind::LeadExtent, a, l, size_type, plans_[a].lead_extents[l]}, size_name);
      add({Argument::Kind::LeadStride, a, l, size_type, plans_[a].lead_strides[l]}, size_name);
    }
  }
  if (!status.empty()) add({Argument::Kind::Status, 0, 0, ir::DType::I32, status}, "int*", "what went wrong");
}

}  // namespace ingot::codegen
