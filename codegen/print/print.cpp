#include "codegen/print/print.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "codegen/print/statements.h"

namespace ingot::codegen {
namespace {

/// Describes the elements that a kernel accesses in a tensor: "contiguous", or "at i0 * x_stride0 + i1".
std::string pointer_comment(const Symbol& symbol, const Expressions& expressions) {
  const std::string dtype = symbol.is_bool ? "bool, " : "";
  if (symbol.is_contiguous) return dtype + "contiguous";
  static const Spelling product("a * b");
  std::vector<std::string> terms;
  for (const Symbol::Term& term : symbol.index_terms) {
    const Text index = term.index ? expressions.text(term.index) : Text{"index"};
    const Text offset = term.stride ? product.fill(std::array{index, expressions.text(term.stride)}) : index;
    terms.push_back(offset.text);
  }
  if (symbol.neighbours > 0) terms.push_back(fmt::format("0..{}", symbol.neighbours));
  return dtype + (terms.empty() ? "one element" : fmt::format("at {}", fmt::join(terms, " + ")));
}

bool is_tensor(const Symbol& symbol) { return symbol.parameter->kind == KernelParameter::Kind::Pointer; }

/// "const float*"; "float*" for a pointer to a result, to partial results or to the status.
std::string parameter_type(const Symbol& symbol) {
  const std::string type = type_text(symbol.type);
  if (!symbol.type.is_pointer) return type;
  const bool is_writable = !is_tensor(symbol) || symbol.is_written;
  return (is_writable ? "" : "const ") + type + "*";
}

/// "const float* __restrict__ x".
std::string declaration(const Kernel& kernel, const Symbol& symbol) {
  const std::string_view restrict = kernel.target.cuda() ? " __restrict__" : " __restrict";
  return fmt::format("{}{}{} {}", symbol.type.is_pointer ? "" : "const ", parameter_type(symbol),
                     is_tensor(symbol) && kernel.restrict_pointers ? restrict : "", symbol.name);
}

/// Prints a line for each parameter, with comments (which may be empty) in an aligned column to their right.
void print_parameters(Statements& out, const Kernel& kernel, const std::vector<std::string>& lines) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  const Expressions expressions = out.expressions().for_comments();
  for (size_t p = 0; p < lines.size(); ++p) {
    const Symbol& symbol = kernel[kernel.parameters[p]];
    const std::string comment = is_tensor(symbol) ? pointer_comment(symbol, expressions) : symbol.meaning;
    out.line(comment.empty() ? lines[p] : fmt::format("{:{}}  // {}", lines[p], width, comment));
  }
}

Printed print_cuda(const Kernel& kernel) {
  Statements out(kernel);
  const std::string blocks = kernel.resident_blocks == 0 ? "" : fmt::format(", {}", kernel.resident_blocks);
  const std::string cluster =
      kernel.cluster_blocks == 1 ? "" : fmt::format("__cluster_dims__({}) ", kernel.cluster_blocks);
  out.line(fmt::format("extern \"C\" __global__ void {}__launch_bounds__({}{}) {}({}", cluster,
                       kernel.launch.block_threads, blocks, kernel.launch.entry,
                       kernel.parameters.empty() ? ") {" : ""));
  std::vector<std::string> lines;
  for (const SymbolId id : kernel.parameters)
    lines.push_back("        " + declaration(kernel, kernel[id]) + (id == kernel.parameters.back() ? ") {" : ","));
  print_parameters(out, kernel, lines);
  out.print(kernel.indices, 4);
  if (!kernel.indices.empty()) out.line("");
  out.print(kernel.body, 4);
  out.line("}");
  return out.take();
}

Printed print_cpu(const Kernel& kernel) {
  Statements out(kernel);
  const std::string arguments = kernel[kernel.arguments].name;
  out.line(fmt::format("extern \"C\" void {}(const void* const* {}, int64 {}, int64 {}) {{", kernel.launch.entry,
                       arguments, kernel[kernel.begin].name, kernel[kernel.end].name));
  std::vector<std::string> lines;
  for (size_t p = 0; p < kernel.parameters.size(); ++p) {
    const Symbol& symbol = kernel[kernel.parameters[p]];
    lines.push_back(fmt::format("    {} = argument<{}>({}[{}]);", declaration(kernel, symbol), parameter_type(symbol),
                                arguments, p));
  }
  print_parameters(out, kernel, lines);
  out.line("");
  out.print(kernel.before, 4);
  out.print(kernel.body, 4);
  out.print(kernel.after, 4);
  out.line("}");
  return out.take();
}

}  // namespace

Printed print_source(const Kernel& kernel) { return kernel.target.cuda() ? print_cuda(kernel) : print_cpu(kernel); }

}  // namespace ingot::codegen
