#include "codegen/schedule/cost.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "codegen/target/spellings.h"

namespace ingot::codegen {

uint32_t cost_of(ir::Op op, ir::DType compute_dtype) {
  if (!ir::is_primitive(op)) return 0;
  const uint32_t cost = ir::info(op).cost;
  const bool is_64_bit = compute_dtype == ir::DType::F64 || compute_dtype == ir::DType::I64;
  return is_64_bit && cost > 1 ? 2 * cost : cost;
}

bool is_transcendental(const ir::Graph& graph, ir::NodeId id) {
  const ir::Op op = graph[id].op;
  return ir::is_primitive(op) && ir::info(op).accuracy == ir::Accuracy::Ulp;
}

bool depends_on_vector_width(const ir::Graph& graph, ir::NodeId id) {
  const ir::Op op = graph[id].op;
  if (!is_transcendental(graph, id) || op == ir::Op::Rsqrt) return false;  // a quotient and a root are rounded exactly
  return !is_spelled_reproducibly(op, ir::compute_type(graph[graph[id].args[0]].dtype));
}

bool has_order(const ir::Graph& graph, ir::NodeId reduction) {
  const ir::ReduceKind kind = graph.reduction(reduction).kind;
  return (kind == ir::ReduceKind::Sum || kind == ir::ReduceKind::Prod) && ir::is_floating(graph[reduction].dtype);
}

namespace {

uint32_t cost_of_node(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph[id];
  return cost_of(node.op, node.args.empty() ? node.dtype : graph[node.args[0]].dtype);
}

}  // namespace

uint32_t cost_of(const ir::Graph& graph, const KernelOutline& kernel) {
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel)) sum += cost_of_node(graph, id);
  return sum;
}

bool varies_in_rows(const KernelLayout& layout, const AccessLayout& access) {
  const size_t axes = layout.reduces ? layout.reduced_axes : std::min(layout.rank, 1u);
  return std::any_of(access.axes.end() - static_cast<ptrdiff_t>(axes), access.axes.end(),
                     [](StrideClass stride) { return stride != StrideClass::Zero; });
}

std::set<ir::NodeId> varying_in_rows(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout) {
  uint32_t access = 0;
  std::set<ir::NodeId> varying;
  for (const ir::NodeId id : nodes_of(graph, kernel)) {
    const ir::Node& node = graph[id];
    bool varies = std::ranges::any_of(node.args, [&](ir::NodeId arg) { return varying.contains(arg); });
    if (is_access(graph, kernel, id)) varies |= varies_in_rows(layout, layout.accesses[access++]);
    if (varies) varying.insert(id);
  }
  return varying;
}

namespace {

/// Whether a value is computed by ops other than Bool ones, and needs no check of an index or a divisor.
bool is_plain_value(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph[id];
  if (node.args.empty() || ir::has_access(node.op) || node.dtype == ir::DType::Bool) return false;
  return std::ranges::none_of(nodes_of(graph, std::vector{id}), [&](ir::NodeId operand) {
    return graph[operand].op == ir::Op::Gather || may_divide_by_zero(graph, operand);
  });
}

}  // namespace

std::vector<ir::NodeId> row_values(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout,
                                   const std::vector<ir::NodeId>& roots) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  std::set<ir::NodeId> seen, values;
  std::vector<ir::NodeId> pending = roots;
  while (!pending.empty()) {
    const ir::NodeId id = pending.back();
    pending.pop_back();
    if (!seen.insert(id).second) continue;
    if (!varying.contains(id) && is_plain_value(graph, id))
      values.insert(id);
    else if (!graph.reduction_read(id))
      std::ranges::copy(graph[id].args, std::back_inserter(pending));
  }
  return {values.begin(), values.end()};
}

uint32_t cost_of_row(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel))
    if (!varying.contains(id)) sum += cost_of_node(graph, id);
  return sum;
}

namespace {

/// The nodes that a phase computes for each element.
std::vector<ir::NodeId> nodes_of_phase(const ir::Graph& graph, const KernelOutline& kernel, uint32_t phase) {
  std::vector<ir::NodeId> roots;
  for (const KernelOutline::ReductionRef& reduction : kernel.reductions)
    if (reduction.phase == phase) roots.push_back(graph[reduction.node].args[0]);
  for (const KernelOutline::OutputBlockRef& part : kernel.output_blocks)
    if (!part.is_per_row && part.phase == phase) roots.push_back(graph.results[part.result].blocks[part.block].node);
  for (const KernelOutline::ReductionRef& reduction : kernel.column_reductions)
    if (reduction.phase == phase) roots.push_back(graph[reduction.node].args[0]);
  return nodes_of(graph, roots);
}

/// The phase in which a node can be computed: after the phases whose values it reads.
uint32_t phase_of(const ir::Graph& graph, const KernelOutline& kernel, ir::NodeId root) {
  uint32_t phase = 0;
  for (const ir::NodeId id : nodes_of(graph, {root}))
    for (const KernelOutline::ReductionRef& reduction : kernel.reductions)
      if (graph.reduction_read(id) == reduction.node) phase = std::max(phase, reduction.phase + 1);
  return phase;
}

}  // namespace

std::vector<uint32_t> phases_of_accesses(const ir::Graph& graph, const KernelOutline& kernel) {
  std::map<ir::NodeId, uint32_t> first_phase;
  for (uint32_t phase = 0; phase < kernel.phases(); ++phase)
    for (const ir::NodeId id : nodes_of_phase(graph, kernel, phase)) first_phase.emplace(id, phase);
  std::vector<uint32_t> phases;
  for (const ir::NodeId id : nodes_of(graph, kernel)) {
    if (!is_access(graph, kernel, id)) continue;
    const auto entry = first_phase.find(id);
    phases.push_back(entry == first_phase.end() ? 0 : entry->second);
  }
  phases.resize(kernel.accesses.size());
  return phases;
}

uint32_t speculative_phase(const ir::Graph& graph, const KernelOutline& kernel, const KernelLayout& layout) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  const auto is_speculative = [&](const KernelOutline::ReductionRef& reduction) {
    const ir::Node& summand = graph[graph[reduction.node].args[0]];
    return graph.reduction(reduction.node).kind == ir::ReduceKind::Sum && summand.op == ir::Op::Where &&
           !varying.contains(summand.args[0]) && varying.contains(summand.args[1]) &&
           phase_of(graph, kernel, summand.args[1]) < reduction.phase;
  };
  for (uint32_t phase = 1; phase < kernel.phases(); ++phase) {
    const auto is_in_phase = [&](const auto& ref) { return ref.phase == phase; };
    const auto is_stored = [&](const KernelOutline::OutputBlockRef& part) {
      return !part.is_per_row && part.phase == phase;
    };
    auto reductions = kernel.reductions | std::views::filter(is_in_phase);
    if (std::ranges::all_of(reductions, is_speculative) && std::ranges::none_of(kernel.output_blocks, is_stored))
      return phase;
  }
  return 0;
}

std::vector<ir::NodeId> shared_by_phases(const ir::Graph& graph, const KernelOutline& kernel,
                                         const KernelLayout& layout, uint32_t speculative_phase) {
  const std::set<ir::NodeId> varying = varying_in_rows(graph, kernel, layout);
  std::set<ir::NodeId> earlier, shared;
  for (uint32_t phase = 0; phase < kernel.phases(); ++phase) {
    if (phase > 0 && phase == speculative_phase) continue;
    const std::vector<ir::NodeId> nodes = nodes_of_phase(graph, kernel, phase);
    // `costly`: nodes that depend on a function (is_transcendental); `inner`: operands of other nodes in `earlier`.
    std::set<ir::NodeId> costly, inner;
    for (const ir::NodeId id : nodes) {
      const std::span<const ir::NodeId> args = graph[id].args;
      if (!varying.contains(id)) continue;
      if (is_transcendental(graph, id) ||
          std::ranges::any_of(args, [&](ir::NodeId arg) { return costly.contains(arg); }))
        costly.insert(id);
      if (earlier.contains(id)) inner.insert(args.begin(), args.end());
    }
    for (const ir::NodeId id : nodes)
      if (earlier.contains(id) && costly.contains(id) && !inner.contains(id)) shared.insert(id);
    earlier.insert(nodes.begin(), nodes.end());
  }
  return {shared.begin(), shared.end()};
}

}  // namespace ingot::codegen
