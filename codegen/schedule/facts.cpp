#include "codegen/schedule/facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/schedule/cost.h"
#include "codegen/schedule/row_policy.h"

namespace ingot::codegen {
namespace {

using Kind = AccessUse::Kind;

/// Whether an op copies the bits of its float16 operands or result, NaN payloads included.
bool moves_bits(ir::Op op) {
  return op == ir::Op::Load || op == ir::Op::Gather || op == ir::Op::Where || op == ir::Op::Bitcast ||
         op == ir::Op::Scalar;
}

/// For each access, whether it is a load of float16 whose uses all compute in float32, or a store of a float16 that was
/// rounded from float32.
std::vector<bool> accesses_that_may_stay_float32(const ir::Graph& graph, const KernelOutline& outline) {
  std::vector<bool> may_stay_float32(outline.accesses.size());
  std::map<ir::NodeId, uint32_t> load_of;
  uint32_t next = 0;
  for (const ir::NodeId id : nodes_of(graph, outline)) {
    const ir::Node& node = graph[id];
    for (const ir::NodeId arg : node.args)
      if (const auto load = load_of.find(arg); load != load_of.end() && moves_bits(node.op))
        may_stay_float32[load->second] = false;
    if (node.op == ir::Op::Load && node.dtype == ir::DType::F16 && is_access(graph, outline, id)) {
      load_of[id] = next;
      may_stay_float32[next] = true;
    }
    next += is_access(graph, outline, id);
  }
  for (const KernelOutline::OutputBlockRef& ref : outline.output_blocks) {
    const ir::Result& result = graph.results[ref.result];
    const ir::NodeId node = result.blocks[ref.block].node;
    const bool has_moved_bits = graph[node].dtype == ir::DType::F16 && moves_bits(graph[node].op);
    may_stay_float32[next++] = result.dtype == ir::DType::F16 && !has_moved_bits;
    if (const auto load = load_of.find(node); load != load_of.end() && result.dtype == ir::DType::F16)
      may_stay_float32[load->second] = false;
  }
  return may_stay_float32;
}

/// For each access, whether it is a gather whose indices all elements of a row share.
std::vector<bool> gathers_of_rows(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, outline, layout);
  return flag_gathers(graph, outline, [&](ir::NodeId id) {
    return std::ranges::none_of(graph.indices(id), [&](ir::NodeId arg) { return varying.contains(arg); });
  });
}

/// The number of float32 quotients whose divisor is not a scalar.
uint32_t quotients_of(const ir::Graph& graph, const KernelOutline& outline) {
  const auto is_quotient = [&](ir::NodeId id) {
    const ir::Node& node = graph[id];
    return node.op == ir::Op::Div && ir::compute_type(node.dtype) == ir::DType::F32 &&
           graph[node.args[1]].op != ir::Op::Scalar;
  };
  return static_cast<uint32_t>(std::ranges::count_if(nodes_of(graph, outline), is_quotient));
}

/// Whether a load has stride 1 along an axis, and along the innermost axis a stride other than 0, 1 and `inner_step`.
bool is_transposed(const AccessFacts& access) {
  return access.kind == Kind::Load && access.inner == StrideClass::Other && access.inner_step == 0 &&
         access.unit_axis != kNoAxis;
}

}  // namespace

std::vector<bool> flag_gathers(const ir::Graph& graph, const KernelOutline& outline,
                               const std::function<bool(ir::NodeId)>& holds) {
  std::vector<bool> flags;
  for (const ir::NodeId id : nodes_of(graph, outline))
    if (is_access(graph, outline, id)) flags.push_back(graph[id].op == ir::Op::Gather && holds(id));
  flags.resize(outline.accesses.size());
  return flags;
}

bool stores_elements(const KernelFacts& facts) {
  return std::ranges::any_of(
      facts.accesses, [](const AccessFacts& access) { return access.kind == Kind::Store && access.varies_in_row; });
}

bool is_element_wise(const AccessFacts& access) { return access.kind == Kind::Load || access.kind == Kind::Store; }

bool is_aligned(const AccessFacts& access, uint32_t lanes) {
  return access.alignment >= std::min(lanes * access.bytes, kVectorBytes);
}

uint32_t bytes_per_element(const KernelFacts& facts) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (access.kind != Kind::Index && !access.broadcasts) bytes += access.bytes;
  return bytes;
}

bool is_large(const AccessFacts& access) {
  return access.kind == Kind::Load && access.varies_in_row && !access.broadcasts && !access.is_masked &&
         !access.is_grouped;
}

uint32_t large_bytes(const KernelFacts& facts) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (is_large(access)) bytes += access.bytes;
  return bytes;
}

uint32_t elements_of_vector(const KernelFacts& facts) {
  uint32_t widest = 0;
  for (const AccessFacts& access : facts.accesses)
    if (access.varies_in_row && is_element_wise(access)) widest = std::max(widest, access.bytes);
  return widest == 0 ? 1 : kVectorBytes / widest;
}

bool is_transposed(const AccessFacts& access, uint32_t axis) {
  return is_transposed(access) && access.unit_axis == axis;
}

uint32_t most_transposed_axis(const KernelFacts& facts) {
  std::vector<uint32_t> bytes(facts.rank);
  for (const AccessFacts& access : facts.accesses)
    if (is_transposed(access)) bytes[access.unit_axis] += access.bytes;
  const auto most = std::ranges::max_element(bytes);
  return most == bytes.end() || *most == 0 ? kNoAxis : static_cast<uint32_t>(most - bytes.begin());
}

uint32_t transposed_bytes(const KernelFacts& facts, uint32_t axis) {
  uint32_t bytes = 0;
  for (const AccessFacts& access : facts.accesses)
    if (is_transposed(access, axis)) bytes += access.bytes;
  return bytes;
}

KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout) {
  const std::vector<bool> may_stay_float32 = accesses_that_may_stay_float32(graph, outline);
  const std::vector<bool> gathers_row = gathers_of_rows(graph, outline, layout);
  const std::vector<uint32_t> phases = phases_of_accesses(graph, outline);
  const auto is_function = [&](ir::NodeId id) { return is_transcendental(graph, id); };
  const auto depends_on_width = [&](ir::NodeId id) { return depends_on_vector_width(graph, id); };
  KernelFacts facts{.accesses = {},
                    .rank = layout.rank,
                    .inner_multiple = layout.inner_multiple,
                    .cost = cost_of(graph, outline),
                    .has_transcendentals = std::ranges::any_of(nodes_of(graph, outline), is_function),
                    .depends_on_vector_width = std::ranges::any_of(nodes_of(graph, outline), depends_on_width),
                    .inner_bits = layout.inner_bits,
                    .transposed_bits = layout.transposed_bits,
                    .results_alias = layout.results_alias,
                    .has_short_rows = layout.has_short_rows,
                    .has_long_rows = layout.has_long_rows,
                    .has_many_steps = layout.has_many_steps,
                    .reduced_axis_multiple = layout.reduced_axis_multiple,
                    .row_cost = cost_of_row(graph, outline, layout),
                    .quotients = quotients_of(graph, outline),
                    .may_divide_by_zero = !outline.divisions.empty()};
  if (outline.column_reductions.empty()) facts.speculative_phase = speculative_phase(graph, outline, layout);
  for (const KernelOutline::ReductionRef& reduction : outline.reductions) {
    const auto bytes = static_cast<uint32_t>(ir::size_of(graph[reduction.node].dtype));
    if (has_order(graph, reduction.node)) facts.ordered_bytes += bytes;
    facts.result_bytes += bytes + (ir::info(graph.reduction(reduction.node).kind).value_count > 1 ? 8 : 0);
  }
  facts.has_several_phases = outline.phases() > 1;
  facts.phases = outline.phases();
  for (const KernelOutline::ReductionRef& reduction : outline.column_reductions)
    facts.column_partial_bytes += static_cast<uint32_t>(ir::size_of(graph[reduction.node].dtype));
  facts.finalizes_partials = outline.partials_writer.has_value();
  for (uint32_t a = 0; a < outline.accesses.size(); ++a) {
    const AccessUse& use = outline.accesses[a];
    const AccessLayout& access = layout.accesses[a];
    AccessFacts& result = facts.accesses.emplace_back();
    facts.loads += use.kind == Kind::Load && !use.in_workspace;
    result.bytes = static_cast<uint32_t>(ir::size_of(use.dtype));
    result.inner = layout.rank == 0 ? StrideClass::Zero : access.axes.back();
    result.widens = ir::compute_type(use.dtype) != use.dtype;
    result.may_stay_float32 = may_stay_float32[a];
    result.row_shares_index = gathers_row[a];
    result.next_outer = layout.rank < 2 ? StrideClass::Zero : access.axes[layout.rank - 2];
    result.inner_step = access.inner_step;
    result.is_linear = access.is_linear;
    const auto zeros = static_cast<size_t>(std::ranges::count(access.axes, StrideClass::Zero));
    result.broadcasts = zeros > 0;
    result.is_uniform = zeros == access.axes.size();
    result.alignment = access.alignment;
    result.kind = use.kind;
    result.unit_axis = kNoAxis;
    for (uint32_t d = 0; d < layout.rank; ++d) {
      if (access.axes[d] == StrideClass::One) result.unit_axis = d;
      if (access.axes[d] == StrideClass::Zero && d < 64) result.constant_axes |= uint64_t{1} << d;
    }
    if (layout.reduces) {
      result.varies_in_row = varies_in_rows(layout, access);
      result.phase = phases[a];
      const uint32_t row_axes = layout.rank - layout.reduced_axes;
      if (row_axes > 0) result.along_rows = access.axes[row_axes - 1];
      if (layout.reduced_axes == 0) result.inner = StrideClass::Zero;
    }
    result.is_grouped = std::ranges::count(layout.accesses, access.leader, &AccessLayout::leader) > 1;
  }
  return facts;
}

KernelFacts facts_of(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                     const Target& target) {
  KernelFacts facts = facts_of(graph, outline, layout);
  if (!target.cuda()) return facts;
  const auto architecture = static_cast<uint32_t>(target.architecture);
  facts.shared_bytes = cuda_shared_bytes(architecture);
  facts.cluster_blocks = cuda_cluster_blocks(architecture);
  facts.never_reads_past_end = target.never_reads_past_end;
  return facts;
}

}  // namespace ingot::codegen
