#include <fmt/format.h>

#include "codegen/print/body_printer.h"
#include "codegen/print/emitters.h"

namespace ingot::codegen {
namespace {

std::string parameters(const KernelPlan& plan) {
  std::vector<std::string> lines;
  for (size_t a = 0; a < plan.launch.arguments.size(); ++a) {
    const Argument& argument = plan.launch.arguments[a];
    const bool pointer = argument.kind == Argument::Kind::Pointer;
    const std::string_view restricted = pointer && plan.restrict_pointers ? " __restrict__" : "";
    const std::string_view constant = plan.types[a].ends_with('*') ? "" : "const ";
    const bool last = a + 1 == plan.launch.arguments.size();
    lines.push_back(
        fmt::format("        {}{}{} {}{}", constant, plan.types[a], restricted, argument.name, last ? ") {" : ","));
  }
  return beside(lines, plan.comments);
}

/// The linear index of a thread's first element, and its coordinates.
std::string indices(const KernelPlan& plan) {
  if (plan.axes.empty()) return "    if (threadIdx.x != 0) return;\n";
  const std::string block = plan.index_type == "int" ? "blockIdx.x" : plan.index_type + "(blockIdx.x)";
  const std::string thread = fmt::format("{} * {} + threadIdx.x", block, plan.launch.block_threads);
  std::string text = fmt::format("    const {} {} = {};\n", plan.index_type, plan.linear,
                                 plan.lanes == 1 ? thread : fmt::format("{} * ({})", plan.lanes, thread));
  text += fmt::format("    if ({} >= {}) return;\n", plan.linear, plan.numel);
  if (plan.axes.size() == 1) return text;
  std::string rest = plan.linear;
  for (size_t d = plan.axes.size(); d-- > 0;) {
    const Axis& axis = plan.axes[d];
    const std::string value = d == 0 ? rest : fmt::format("{} % {}", rest, axis.extent);
    if (axis.used) text += fmt::format("    const {} {} = {};\n", plan.index_type, axis.index, value);
    if (d > 0) rest += " / " + axis.extent;
  }
  return text;
}

std::string pointwise(const KernelPlan& plan) {
  std::string text = fmt::format("extern \"C\" __global__ void __launch_bounds__({}) {}(\n", plan.launch.block_threads,
                                 plan.launch.entry);
  text += parameters(plan);
  text += indices(plan);
  text += "\n";
  text += print_block(plan.body, 4);
  text += "}\n";
  return text;
}

}  // namespace

std::string emit_cuda(const KernelPlan& plan) {
  switch (plan.kind) {
    case KernelPlan::Kind::Pointwise:
      return pointwise(plan);
  }
  return {};
}

}  // namespace ingot::codegen
