#include "codegen/emit.h"

#include "codegen/kernel/plan_body.h"
#include "codegen/print/emitters.h"
#include "codegen/print/header_comment.h"
#include "codegen/target/prelude.h"

namespace ingot::codegen {

std::string plan_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                      const Target& target, const Options& options) {
  return print(plan(graph, outline, layouts, target, options));
}

Source generate_functions(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options, std::string_view suffix) {
  Plan decided = plan(graph, outline, layouts, target, options);
  Source source;
  for (KernelPlan& kernel : decided.kernels) {
    kernel.launch.entry += suffix;
    source.text += (source.text.empty() ? "" : "\n");
    source.text += target.kind == Target::Kind::Cuda ? emit_cuda(kernel) : emit_cpu(kernel);
    source.kernels.push_back(kernel.launch);
  }
  return source;
}

Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view author_text) {
  Source source = generate_functions(graph, outline, layouts, target, options, "");
  const std::string header = comment_out(author_text);
  source.text = header + (header.empty() ? "" : "\n") + prelude_for(target.kind, source.text) + source.text;
  return source;
}

std::string join(Target::Kind target, std::span<const Source> sources) {
  std::string functions;
  for (const Source& source : sources) functions += (functions.empty() ? "" : "\n") + source.text;
  return prelude_for(target, functions) + functions;
}

}  // namespace ingot::codegen
