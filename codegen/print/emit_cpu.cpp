#include <fmt/format.h>

#include "codegen/print/body_printer.h"
#include "codegen/print/emitters.h"

namespace ingot::codegen {
namespace {

/// The arguments by name, one a line.
std::string arguments(const KernelPlan& plan) {
  std::vector<std::string> lines;
  for (size_t a = 0; a < plan.launch.arguments.size(); ++a) {
    const Argument& argument = plan.launch.arguments[a];
    const bool pointer = plan.types[a].ends_with('*');
    const bool restricted = argument.kind == Argument::Kind::Pointer && plan.restrict_pointers;
    lines.push_back(fmt::format("    {}{}{} {} = argument<{}>({}[{}]);", pointer ? "" : "const ", plan.types[a],
                                restricted ? " __restrict" : "", argument.name, plan.types[a], plan.arguments, a));
  }
  return beside(lines, plan.comments);
}

/// The loop over the rows that [begin, end) touches; the first and the last may be touched in part.
std::string rows(const KernelPlan& plan) {
  const std::string &type = plan.index_type, &linear = plan.linear;
  const std::string& length = plan.axes.back().extent;
  std::string text = fmt::format("    for ({0} {1} = {2}; {1} < {3};) {{\n", type, linear, plan.begin, plan.end);
  text += fmt::format("        const {} {} = {} % {};\n", type, plan.first, linear, length);
  text += fmt::format("        const {} {} = smaller_of({} + ({} - {}), {});\n", type, plan.last, plan.first, plan.end,
                      linear, length);
  if (!plan.row.empty()) text += fmt::format("        const {} {} = {} - {};\n", type, plan.row, linear, plan.first);
  std::string rest = linear + " / " + length;
  for (size_t d = plan.axes.size() - 1; d-- > 0;) {
    const Axis& axis = plan.axes[d];
    const std::string value = d == 0 ? rest : fmt::format("{} % {}", rest, axis.extent);
    if (axis.used) text += fmt::format("        const {} {} = {};\n", type, axis.index, value);
    if (d > 0) rest += " / " + axis.extent;
  }
  text += print_block(plan.body, 8);
  text += fmt::format("        {} += {} - {};\n    }}\n", linear, plan.last, plan.first);
  return text;
}

std::string pointwise(const KernelPlan& plan) {
  std::string text = fmt::format("extern \"C\" void {}(const void* const* {}, {} {}, {} {}) {{\n", plan.launch.entry,
                                 plan.arguments, plan.index_type, plan.begin, plan.index_type, plan.end);
  text += arguments(plan);
  text += "\n";
  text += print_block(plan.before, 4);
  text += plan.axes.size() > 1 ? rows(plan) : print_block(plan.body, 4);
  text += print_block(plan.after, 4);
  text += "}\n";
  return text;
}

}  // namespace

std::string emit_cpu(const KernelPlan& plan) {
  switch (plan.kind) {
    case KernelPlan::Kind::Pointwise:
      return pointwise(plan);
  }
  return {};
}

}  // namespace ingot::codegen
