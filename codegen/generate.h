#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"

// outline → layout → schedule → kernel → source: the last three arrows, for all kernels of a graph. The graph must be
// the one that the outline was made of; `layouts`: one a kernel.

namespace ingot::codegen {

/// Generated source: one translation unit with one function a kernel.
///
/// CUDA: `extern "C" __global__ void entry(arguments…)`, no includes, NVRTC-ready.
/// CPU: `extern "C" void entry(const void* const* arguments, int64_t begin, int64_t end)` over a range of
/// the units that LaunchInfo::grid counts, elements or tiles of the domain; arguments[k] points at the k-th argument's
/// value, as in cuLaunchKernel.
struct Source {
  std::string text;
  std::vector<LaunchInfo> kernels;   ///< one or two for each kernel of the outline, in its order
  std::vector<ComputedNodes> lines;  ///< one for each line of the text
};

std::vector<Schedule> schedules(const ir::Graph& graph, const Outline& outline,
                                const std::vector<KernelLayout>& layouts, const Target& target, const Options& options);

/// Errors: Error(Author) where a kernel would take more arguments than the target can pass.
std::vector<Kernel> kernels(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                            const Target& target, const Options& options);

/// `author_text` goes into the header comment.
Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view author_text);

/// The functions without header comment and prelude, to be joined with others. `suffix` goes behind the name of each,
/// so that those of many sources are told apart.
Source generate_functions(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options, std::string_view suffix);

/// One translation unit of what `generate_functions` gave for one kind of target: a prelude for all of it.
std::string join(Target::Kind target, std::span<const Source> sources);

/// For a person.
std::string schedule_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options);
std::string kernel_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                        const Target& target, const Options& options);

}  // namespace ingot::codegen
