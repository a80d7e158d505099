#include "codegen/generate.h"

#include <algorithm>

#include "base/error.h"
#include "codegen/kernel/build.h"
#include "codegen/print/header_comment.h"
#include "codegen/print/launch_comment.h"
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

namespace {

/// Appends text whose lines compute the given nodes; missing ones compute none.
void append(Source& source, const std::string& text, std::vector<ComputedNodes> lines = {}) {
  source.text += text;
  lines.resize(static_cast<size_t>(std::ranges::count(text, '\n')));
  source.lines.insert(source.lines.end(), lines.begin(), lines.end());
}

}  // namespace

Source generate_functions(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options, std::string_view suffix,
                          LaunchComments* comments) {
  Source source;
  for (Kernel& kernel : kernels(graph, outline, layouts, target, options)) {
    kernel.launch.entry += suffix;
    if (!source.text.empty()) append(source, "\n");
    if (comments != nullptr) append(source, comments->above(kernel));
    Printed printed = print_source(kernel);
    append(source, printed.text, std::move(printed.lines));
    source.kernels.push_back(kernel.launch);
  }
  return source;
}

Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view op_source, LaunchComments* comments) {
  Source functions = generate_functions(graph, outline, layouts, target, options, "", comments);
  Source source;
  append(source, comment_out(op_source));
  if (comments != nullptr) append(source, comments->of_file());
  if (!source.text.empty()) append(source, "\n");
  append(source, prelude_for(target.kind, functions.text));
  append(source, functions.text, std::move(functions.lines));
  source.kernels = std::move(functions.kernels);
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
