#include "runtime/api/explanation.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "ir/flop_count.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/cache/fork_guard.h"

namespace ingot {

namespace {

/// Counts the code points of a UTF-8 text: the bytes that begin one.
uint32_t count_code_points(std::string_view text) {
  return static_cast<uint32_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

Explanation::TextRange text_range_of(const Span& span) {
  const std::string_view text = span.source->text();
  return {count_code_points(text.substr(0, span.begin)), count_code_points(text.substr(0, span.end))};
}

/// The op's source; null if no node has a span.
const Source* source_of(const ir::Graph& graph) {
  for (uint32_t i = 0; i < graph.count(); ++i)
    if (const Span span = graph.span({i})) return span.source;
  return nullptr;
}

/// Gives each node without a line of generated source the lines of its users. Nodes without a line are scalars, and
/// factors that the printer folds into a sum.
void inherit_lines_from_users(const ir::Graph& graph, std::vector<std::vector<uint32_t>>& lines) {
  std::vector<std::vector<size_t>> lines_of(graph.count());
  for (size_t line = 0; line < lines.size(); ++line)
    for (const uint32_t node : lines[line]) lines_of[node].push_back(line);
  std::vector<bool> has_no_line;
  for (const std::vector<size_t>& node_lines : lines_of) has_no_line.push_back(node_lines.empty());
  for (auto user = static_cast<uint32_t>(graph.count()); user-- > 0;) {
    for (const ir::NodeId arg : graph[{user}].args) {
      if (!has_no_line[arg.index]) continue;
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
                          .access_index = static_cast<uint32_t>(a),
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

Explanation::Launch launch_of(const Stages& stages, const codegen::LaunchInfo& info) {
  const codegen::KernelGeometry& geometry = stages.resolved.geometries[info.outline_kernel];
  const codegen::KernelOutline& kernel = stages.outline.kernels[info.outline_kernel];
  Explanation::Launch launch{
      info.entry, info.units(geometry.extents), info.block_threads, info.shared_bytes(geometry.extents), {}};
  for (const codegen::KernelParameter& parameter : info.parameters) {
    std::optional<double> value = codegen::size_argument(parameter, geometry);
    if (parameter.kind == codegen::KernelParameter::Kind::Scalar)
      value = stages.host[kernel.scalars[parameter.a].value.index].as_double();
    launch.arguments.push_back(value);
  }
  return launch;
}

}  // namespace

Explanation OpState::explain(std::span<const Argument> arguments, bool of_gradient, EmitTarget target) const {
  const runtime::ForkGuard guard;
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->explain(leaves, of_gradient, target);
  if (of_gradient) {
    const EmitContext context = make_emit_context(arguments, target);
    const GradientCall call = make_gradient_call(*context.program, context.key);
    return call.op->explain(call.arguments, false, target);
  }
  const EmitContext context = make_emit_context(arguments, target);
  const Stages stages = make_stages(context, target);
  const ir::Graph& graph = *stages.graph;

  Explanation explanation;
  const Source* op_source = source_of(graph);
  explanation.op_source = op_source ? op_source->text() : std::string(definition_->source_text());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    std::vector<Span> spans = graph.mention_spans({i});
    spans.insert(spans.begin(), graph.span({i}));
    std::vector<Explanation::TextRange>& text_ranges = explanation.nodes.emplace_back();
    for (const Span& span : spans)
      if (op_source != nullptr && span.source == op_source) text_ranges.push_back(text_range_of(span));
  }
  explanation.operations = ir::count_operations(graph, stages.host);
  explanation.graph = ir::print(graph);
  explanation.schedule = stages.schedule_text();
  const codegen::Source source = stages.source(definition_->source_text());
  explanation.kernel_source = source.text;
  for (const codegen::ComputedNodes& nodes : source.lines) {
    std::vector<uint32_t>& line = explanation.lines.emplace_back();
    for (const ir::NodeId node : nodes) line.push_back(node.index);
  }
  inherit_lines_from_users(graph, explanation.lines);
  for (const codegen::LaunchInfo& info : source.kernels) explanation.launches.push_back(launch_of(stages, info));
  add_accesses(stages, explanation.accesses);
  return explanation;
}

std::string Explanation::json() const {
  nlohmann::json document = {
      {"text", op_source},    {"operations", operations},         {"graph", graph},
      {"schedule", schedule}, {"source", kernel_source},          {"launches", nlohmann::json::array()},
      {"lines", lines},       {"nodes", nlohmann::json::array()}, {"accesses", nlohmann::json::array()}};
  for (const std::vector<TextRange>& node : nodes) {
    nlohmann::json& text_ranges = document["nodes"].emplace_back(nlohmann::json::array());
    for (const TextRange& text_range : node) text_ranges.push_back({text_range.begin, text_range.end});
  }
  for (const Launch& launch : launches) {
    nlohmann::json arguments = nlohmann::json::array();
    for (const std::optional<double>& value : launch.arguments)
      arguments.push_back(value ? nlohmann::json(*value) : nlohmann::json());
    document["launches"].push_back({{"kernel", launch.kernel},
                                    {"units", launch.units},
                                    {"block", launch.block_threads},
                                    {"shared", launch.shared_bytes},
                                    {"arguments", std::move(arguments)}});
  }
  for (const Access& access : accesses)
    document["accesses"].push_back({{"kernel", access.kernel},
                                    {"number", access.access_index},
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
