#include "codegen/shape/outline.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "codegen/target/names.h"
#include "ir/types/constant.h"

namespace ingot::codegen {
namespace {

using ir::Op;

bool same_domain(const ir::HostPool& host, const std::vector<ir::HostId>& a, const std::vector<ir::HostId>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](ir::HostId x, ir::HostId y) { return host.same(x, y); });
}

std::string text_of(const ir::Graph& graph, ir::NodeId node, uint32_t param) {
  const Span span = graph.span(node);
  return span ? std::string(span.text()) : graph.params[param].name;
}

void add_node(const ir::Graph& graph, ir::NodeId id, KernelOutline& kernel) {
  const ir::Node& node = graph[id];
  switch (node.op) {
    case Op::Load:
    case Op::Gather: {
      const ir::Access& access = graph.access(id);
      kernel.accesses.push_back({node.op == Op::Load ? AccessUse::Kind::Load : AccessUse::Kind::Gather,
                                 access.source.index, node.dtype, access, text_of(graph, id, access.source.index)});
      break;
    }
    case Op::Index:
      kernel.accesses.push_back({AccessUse::Kind::Index, node.attr, node.dtype, {}, {}});
      break;
    case Op::Scalar: {
      const ScalarUse scalar{graph.host_of(id), ir::compute_type(node.dtype)};
      const auto known = [&](const ScalarUse& use) { return use.value == scalar.value && use.dtype == scalar.dtype; };
      if (!graph.host.is_constant(scalar.value) && std::ranges::none_of(kernel.scalars, known))
        kernel.scalars.push_back(scalar);
      break;
    }
    case Op::Call:
      throw_internal("a call reached code generation: inline_calls has not run", print(graph));
    default:
      if (may_divide_by_zero(graph, id))
        kernel.divisions.push_back(graph.span(id) ? std::string(graph.span(id).text()) : "an integer division");
      break;
  }
}

}  // namespace

bool may_divide_by_zero(const ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph[id];
  const bool divides =
      node.op == Op::FloorDivide || node.op == Op::TruncDivide || node.op == Op::Remainder || node.op == Op::Fmod;
  if (!divides || ir::is_floating(node.dtype)) return false;
  const std::optional<ir::Constant> divisor = ir::constant_of(graph, node.args[1]);
  return !divisor || divisor->integer == 0;
}

std::vector<ir::NodeId> nodes_of(const ir::Graph& graph, const KernelOutline& kernel) {
  std::vector<bool> needed(graph.count());
  for (const KernelOutline::PartRef& ref : kernel.parts)
    needed[graph.results[ref.result].parts[ref.part].node.index] = true;
  std::vector<ir::NodeId> nodes;
  for (size_t index = graph.count(); index-- > 0;) {
    if (!needed[index]) continue;
    nodes.push_back(ir::NodeId{static_cast<uint32_t>(index)});
    for (const ir::NodeId arg : graph[nodes.back()].args) needed[arg.index] = true;
  }
  std::ranges::reverse(nodes);
  return nodes;
}

Outline outline(const ir::Graph& graph) {
  Outline result;
  for (uint32_t r = 0; r < graph.results.size(); ++r) {
    for (uint32_t p = 0; p < graph.results[r].parts.size(); ++p) {
      const ir::Part& part = graph.results[r].parts[p];
      auto kernel = std::ranges::find_if(
          result.kernels, [&](const KernelOutline& k) { return same_domain(graph.host, k.domain, part.domain); });
      if (kernel == result.kernels.end()) {
        result.kernels.emplace_back().domain = part.domain;
        kernel = result.kernels.end() - 1;
      }
      kernel->parts.push_back({r, p});
    }
  }
  const std::string name = entry_name(graph.name);
  for (size_t k = 0; k < result.kernels.size(); ++k) {
    KernelOutline& kernel = result.kernels[k];
    kernel.name = k == 0 ? name : name + "_" + std::to_string(k);
    for (const ir::NodeId node : nodes_of(graph, kernel)) add_node(graph, node, kernel);
    for (const KernelOutline::PartRef& ref : kernel.parts) {
      const ir::Result& res = graph.results[ref.result];
      kernel.accesses.push_back({AccessUse::Kind::Store, ref.result, res.dtype, res.parts[ref.part].store, res.name});
    }
  }
  return result;
}

}  // namespace ingot::codegen
