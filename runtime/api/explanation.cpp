#include "runtime/api/explanation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "ir/flop_count.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/call/host_run.h"

namespace ingot {

namespace {

/// Counts the code points of a UTF-8 text: the bytes that begin one.
uint32_t characters(std::string_view text) {
  return static_cast<uint32_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Explanation::Stretch stretch_of(const Span& span) {
  const std::string_view text = span.source->text();
  return {characters(text.substr(0, span.begin)), characters(text.substr(0, span.end))};
}

/// The op's source; null if no node has a span.
const Source* text_of(const ir::Graph& graph) {
  for (uint32_t i = 0; i < graph.count(); ++i)
    if (const Span span = graph.span({i})) return span.source;
  return nullptr;
}

/// Gives each node without a line of generated source the lines of its users. Nodes without a line are scalars, and
/// factors that the printer folds into a sum.
void give_lines_to_all(const ir::Graph& graph, std::vector<std::vector<uint32_t>>& lines) {
  std::vector<std::vector<size_t>> lines_of(graph.count());
  for (size_t line = 0; line < lines.size(); ++line)
    for (const uint32_t node : lines[line]) lines_of[node].push_back(line);
  std::vector<bool> is_homeless;
  for (const std::vector<size_t>& own : lines_of) is_homeless.push_back(own.empty());
  for (auto user = static_cast<uint32_t>(graph.count()); user-- > 0;) {
    for (const ir::NodeId arg : graph[{user}].args) {
      if (!is_homeless[arg.index]) continue;
      for (const size_t line : lines_of[user]) {
        if (std::ranges::count(lines_of[arg.index], line) > 0) continue;
        lines_of[arg.index].push_back(line);
        lines[line].push_back(arg.index);
      }
    }
  }
}

std::string name_of(const ir::Graph& graph, const codegen::AccessUse& use) {
  if (use.in_workspace) return "workspace";
  return use.kind == codegen::AccessUse::Kind::Store ? graph.results[use.tensor].name : graph.params[use.tensor].name;
}

int64_t operations_of(const ir::Graph& graph, const runtime::CallKey& key) {
  std::vector<ir::HostValue> sizes(graph.host.count());
  std::string failure;
  runtime::run_host(graph.host, key, sizes, failure);
  if (!failure.empty()) throw_internal("the sizes of an op that is explained: " + failure);
  return ir::count_operations(graph, sizes);
}

void add_accesses(const Stages& stages, std::vector<Explanation::Access>& accesses) {
  const std::vector<codegen::Schedule> schedules =
      codegen::schedules(*stages.graph, stages.outline, stages.resolved.layouts, stages.target, stages.options);
  for (size_t k = 0; k < schedules.size(); ++k) {
    const codegen::KernelOutline& kernel = stages.outline.kernels[k];
    const codegen::KernelGeometry& geometry = stages.resolved.geometries[k];
    const std::vector<ir::NodeId> nodes = nodes_of_accesses(*stages.graph, kernel);
    for (size_t a = 0; a < kernel.accesses.size(); ++a) {
      const codegen::AccessUse& use = kernel.accesses[a];
      if (!use.has_tensor()) continue;
      accesses.push_back({.kernel = kernel.name,
                          .number = static_cast<uint32_t>(a),
                          .node = nodes[a].index,
                          .tensor = name_of(*stages.graph, use),
                          .dtype = std::string(ir::short_name(use.dtype)),
                          .is_written = use.kind == codegen::AccessUse::Kind::Store,
                          .is_gathered = use.kind == codegen::AccessUse::Kind::Gather,
                          .how = print(schedules[k].accesses[a]),
                          .extents = geometry.extents,
                          .strides = geometry.accesses[a].strides,
                          .offset = geometry.accesses[a].offset});
    }
  }
}

}  // namespace

Explanation OpState::explain(std::span<const Argument> arguments, bool of_gradient, EmitTarget target) const {
  const runtime::ForkGuard held;
  std::vector<Argument> leaves;
  if (const auto op = structured(arguments, leaves)) return op->explain(leaves, of_gradient, target);
  if (of_gradient) {
    const Shown shown = show(arguments, target);
    const GradientCall call = gradient_call(*shown.program, shown.key);
    return call.op->explain(call.arguments, false, target);
  }
  const Shown shown = show(arguments, target);
  const Stages stages = this->stages(shown, target);
  const ir::Graph& graph = *stages.graph;

  Explanation found;
  const Source* text = text_of(graph);
  found.text = text ? text->text() : std::string(definition_->text());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    std::vector<Span> spans = graph.mentions({i});
    spans.insert(spans.begin(), graph.span({i}));
    std::vector<Explanation::Stretch>& stretches = found.nodes.emplace_back();
    for (const Span& span : spans)
      if (text != nullptr && span.source == text) stretches.push_back(stretch_of(span));
  }
  found.operations = operations_of(graph, shown.key);
  found.graph = ir::print(graph);
  found.schedule = stages.schedule_text();
  const codegen::Source source = stages.source(definition_->text());
  found.source = source.text;
  for (const codegen::ComputedNodes& nodes : source.lines) {
    std::vector<uint32_t>& line = found.lines.emplace_back();
    for (const ir::NodeId node : nodes) line.push_back(node.index);
  }
  give_lines_to_all(graph, found.lines);
  for (const codegen::LaunchInfo& kernel : source.kernels) found.kernels.push_back(kernel.entry);
  add_accesses(stages, found.accesses);
  return found;
}

std::string Explanation::json() const {
  nlohmann::json document = {{"text", text},
                             {"operations", operations},
                             {"graph", graph},
                             {"schedule", schedule},
                             {"source", source},
                             {"kernels", kernels},
                             {"lines", lines},
                             {"nodes", nlohmann::json::array()},
                             {"accesses", nlohmann::json::array()}};
  for (const std::vector<Stretch>& node : nodes) {
    nlohmann::json& stretches = document["nodes"].emplace_back(nlohmann::json::array());
    for (const Stretch& stretch : node) stretches.push_back({stretch.begin, stretch.end});
  }
  for (const Access& access : accesses)
    document["accesses"].push_back({{"kernel", access.kernel},
                                    {"number", access.number},
                                    {"node", access.node},
                                    {"tensor", access.tensor},
                                    {"dtype", access.dtype},
                                    {"is_written", access.is_written},
                                    {"is_gathered", access.is_gathered},
                                    {"how", access.how},
                                    {"extents", access.extents},
                                    {"strides", access.strides},
                                    {"offset", access.offset}});
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ingot
