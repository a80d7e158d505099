#include "codegen/emit.h"

#include "codegen/emitters.h"
#include "codegen/header_comment.h"
#include "codegen/plan_body.h"
#include "codegen/prelude.h"

namespace ingot::codegen {

std::string plan_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                      const Target& target, const Options& options) {
  return print(plan(graph, outline, layouts, target, options));
}

Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view author_text) {
  const Plan decided = plan(graph, outline, layouts, target, options);
  Source source;
  std::string kernels;
  for (const KernelPlan& kernel : decided.kernels) {
    kernels += (kernels.empty() ? "" : "\n");
    kernels += target.kind == Target::Kind::Cuda ? emit_cuda(kernel) : emit_cpu(kernel);
    source.kernels.push_back(kernel.launch);
  }
  const std::string header = comment_out(author_text);
  source.text = header + (header.empty() ? "" : "\n") + prelude_for(target.kind, kernels) + kernels;
  return source;
}

}  // namespace ingot::codegen
