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

std::string comment_of(const Kernel& kernel, SymbolId id, const Expressions& expressions) {
  const Symbol& symbol = kernel[id];
  return symbol.parameter->kind == KernelParameter::Kind::Pointer ? pointer_comment(symbol, expressions)
                                                                  : symbol.meaning;
}

bool is_tensor(const Symbol& symbol) { return symbol.parameter->kind == KernelParameter::Kind::Pointer; }

/// "const float*"; "float*" for a pointer to a result, to partial results or to the status.
std::string parameter_type(const Symbol& symbol) {
  const std::string type = type_text(symbol.type);
  if (!symbol.type.is_pointer) return type;
  const bool is_writable = !is_tensor(symbol) || symbol.is_written;
  return (is_writable ? "" : "const ") + type + "*";
}

/// Prints the lines with the comments (which may be empty) in an aligned column to their right.
void print_with_comments(Statements& out, const std::vector<std::string>& lines,
                         const std::vector<std::string>& comments) {
  size_t width = 0;
  for (const std::string& line : lines) width = std::max(width, line.size());
  for (size_t l = 0; l < lines.size(); ++l)
    out.line(comments[l].empty() ? lines[l] : fmt::format("{:{}}  // {}", lines[l], width, comments[l]));
}

std::vector<std::string> comments_of(const Kernel& kernel, const Statements& out) {
  std::vector<std::string> comments;
  for (const SymbolId id : kernel.parameters) comments.push_back(comment_of(kernel, id, out.expressions()));
  return comments;
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
  for (const SymbolId id : kernel.parameters) {
    const Symbol& symbol = kernel[id];
    const bool is_restrict = is_tensor(symbol) && kernel.restrict_pointers;
    lines.push_back(fmt::format("        {}{}{} {}{}", symbol.type.is_pointer ? "" : "const ", parameter_type(symbol),
                                is_restrict ? " __restrict__" : "", symbol.name,
                                id == kernel.parameters.back() ? ") {" : ","));
  }
  print_with_comments(out, lines, comments_of(kernel, out));
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
    const std::string type = parameter_type(symbol);
    const bool is_restrict = is_tensor(symbol) && kernel.restrict_pointers;
    lines.push_back(fmt::format("    {}{}{} {} = argument<{}>({}[{}]);", symbol.type.is_pointer ? "" : "const ", type,
                                is_restrict ? " __restrict" : "", symbol.name, type, arguments, p));
  }
  print_with_comments(out, lines, comments_of(kernel, out));
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
