#include "codegen/generate.h"

#include <algorithm>

#include "base/error.h"
#include "codegen/kernel/build.h"
#include "codegen/print/header_comment.h"
#include "codegen/print/print.h"
#include "codegen/target/prelude.h"

namespace ingot::codegen {

std::vector<Schedule> schedules(const ir::Graph& graph, const Outline& outline,
                                const std::vector<KernelLayout>& layouts, const Target& target,
                                const Options& options) {
  if (layouts.size() != outline.kernels.size()) throw_internal("a kernel without a layout");
  std::vector<Schedule> all;
  for (size_t k = 0; k < layouts.size(); ++k)
    all.push_back(schedule(graph, outline.kernels[k], layouts[k], target, options));
  return all;
}

std::vector<Kernel> kernels(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                            const Target& target, const Options& options) {
  const std::vector<Schedule> chosen = schedules(graph, outline, layouts, target, options);
  std::vector<Kernel> all;
  for (uint32_t k = 0; k < layouts.size(); ++k) {
    for (Kernel& kernel : build(graph, outline.kernels[k], layouts[k], chosen[k], target, options)) {
      kernel.launch.outline_kernel = k;
      // An earlier kernel with fused column partials, or the first launch of this one.
      kernel.launch.partials_writer = outline.kernels[k].partials_writer.value_or(k);
      all.push_back(std::move(kernel));
    }
  }
  return all;
}

Source generate_functions(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options, std::string_view suffix) {
  Source source;
  for (Kernel& kernel : kernels(graph, outline, layouts, target, options)) {
    kernel.launch.entry += suffix;
    const Printed printed = print_source(kernel);
    if (!source.text.empty()) {
      source.text += "\n";
      source.lines.emplace_back();
    }
    source.text += printed.text;
    source.lines.insert(source.lines.end(), printed.lines.begin(), printed.lines.end());
    source.kernels.push_back(kernel.launch);
  }
  return source;
}

Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view op_source) {
  Source source = generate_functions(graph, outline, layouts, target, options, "");
  const std::string header = comment_out(op_source);
  const std::string preamble = header + (header.empty() ? "" : "\n") + prelude_for(target.kind, source.text);
  source.text = preamble + source.text;
  source.lines.insert(source.lines.begin(), static_cast<size_t>(std::ranges::count(preamble, '\n')), {});
  return source;
}

std::string join(Target::Kind target, std::span<const Source> sources) {
  std::string functions;
  for (const Source& source : sources) functions += (functions.empty() ? "" : "\n") + source.text;
  return prelude_for(target, functions) + functions;
}

std::string schedule_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options) {
  const std::vector<Schedule> chosen = schedules(graph, outline, layouts, target, options);
  std::string text;
  for (size_t k = 0; k < chosen.size(); ++k)
    text += (text.empty() ? "" : "\n") + print(chosen[k], outline.kernels[k]) +
            "  layout: " + relevant_to(target, layouts[k]).text() + "\n";
  return text;
}

std::string kernel_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                        const Target& target, const Options& options) {
  std::string text;
  for (const Kernel& kernel : kernels(graph, outline, layouts, target, options))
    text += (text.empty() ? "" : "\n") + print(kernel);
  return text;
}

}  // namespace ingot::codegen
