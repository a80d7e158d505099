#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/kernel/plan_body.h"
#include "codegen/print/body_printer.h"

namespace ingot::codegen {
namespace {

std::string what(const Argument& argument) {
  const uint32_t a = argument.a, b = argument.b;
  switch (argument.kind) {
    case Argument::Kind::Pointer:
      return fmt::format("pointer of access {}", a);
    case Argument::Kind::Extent:
      return fmt::format("extent of axis {}", b);
    case Argument::Kind::Numel:
      return "number of elements";
    case Argument::Kind::Stride:
      return fmt::format("stride of access {} along axis {}", a, b);
    case Argument::Kind::LeadStride:
      return fmt::format("stride of access {} along gathered coordinate {}", a, b);
    case Argument::Kind::LeadExtent:
      return fmt::format("extent of access {}'s gathered coordinate {}", a, b);
    case Argument::Kind::Scalar:
      return fmt::format("scalar {}", a);
    case Argument::Kind::Status:
      return "status";
  }
  return {};
}

std::string_view name_of(Axis::Role role) {
  switch (role) {
    case Axis::Role::Grid:
      return "grid";
    case Axis::Role::Vector:
      return "grid, lanes";
    case Axis::Role::Rows:
      return "rows";
    case Axis::Role::Inner:
      return "inner loop";
  }
  return {};
}

void print_section(std::string& text, std::string_view title, const Block& block) {
  if (!block.empty()) text += fmt::format("  {}\n{}", title, print_block(block, 4));
}

std::string print(const KernelPlan& plan, const Target& target) {
  std::string text = fmt::format("{}: pointwise", plan.launch.entry);
  if (target.kind == Target::Kind::Cuda)
    text += fmt::format(" on cuda, {} threads of {} lanes, {} indices\n", plan.launch.block_threads, plan.lanes,
                        plan.index_type == "int" ? "32-bit" : "64-bit");
  else
    text += fmt::format(" on cpu, weight {}\n", plan.launch.weight);
  for (size_t d = 0; d < plan.axes.size(); ++d)
    text += fmt::format("  axis {}: {} ({}){}\n", d, plan.axes[d].index, name_of(plan.axes[d].role),
                        plan.axes[d].extent.empty() ? "" : " of " + plan.axes[d].extent);
  for (size_t a = 0; a < plan.launch.arguments.size(); ++a)
    text += fmt::format("  argument {}: {} {}: {}{}\n", a, plan.types[a], plan.launch.arguments[a].name,
                        what(plan.launch.arguments[a]), plan.comments[a].empty() ? "" : "  ; " + plan.comments[a]);
  if (!plan.restrict_pointers) text += "  results may be inputs\n";
  print_section(text, "before", plan.before);
  print_section(text, "body", plan.body);
  print_section(text, "after", plan.after);
  return text;
}

}  // namespace

std::string print(const Plan& plan) {
  std::string text;
  for (const KernelPlan& kernel : plan.kernels) text += (text.empty() ? "" : "\n") + print(kernel, plan.target);
  return text;
}

}  // namespace ingot::codegen
