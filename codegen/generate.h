#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/kernel/kernel.h"
#include "codegen/schedule/schedule.h"

// The last three steps of outline → layout → schedule → kernel → source, for all kernels of a graph. `graph` must be
// the graph from which the outline was made; `layouts` has one layout per kernel.

namespace ingot::codegen {

class LaunchComments;  // print/launch_comment.h

/// Generated source: one translation unit with one function per kernel.
///
/// CUDA: `extern "C" __global__ void entry(arguments…)`, no includes, compiles with NVRTC.
/// CPU: `extern "C" void entry(const void* const* arguments, int64_t begin, int64_t end)` computes the units
/// [begin, end) of those that LaunchInfo::grid counts. A unit is an element, a row or a tile of the domain; in a kernel
/// that reduces, it is a row, some adjacent rows, or one chunk of the elements of these rows. arguments[k] points to
/// the value of the k-th argument, as in cuLaunchKernel.
struct Source {
  std::string text;
  std::vector<LaunchInfo> kernels;   ///< one or two per kernel of the outline, in its order
  std::vector<ComputedNodes> lines;  ///< the nodes that each line of the text computes
};

/// The schedules that the policy chooses; one per kernel of the outline.
std::vector<Schedule> schedules(const ir::Graph& graph, const Outline& outline,
                                const std::vector<KernelLayout>& layouts, const Target& target, const Options& options);

/// The kernels before they are printed; one or two per kernel of the outline. Errors: Error(Author) if a kernel would
/// take more arguments than the target can pass.
std::vector<Kernel> kernels(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                            const Target& target, const Options& options);

/// `op_source`, the op's source, becomes the header comment. If `comments` are given, a comment above each kernel says
/// how the kernel is launched and what it requires.
Source generate(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                const Target& target, const Options& options, std::string_view op_source,
                LaunchComments* comments = nullptr);

/// The functions without header comment and prelude; `join` combines them with other functions. `suffix` is appended to
/// each function's name, so that the names of different sources differ. `comments`: see `generate`.
Source generate_functions(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options, std::string_view suffix,
                          LaunchComments* comments = nullptr);

/// One translation unit from results of `generate_functions` for one kind of target, with one prelude for all of them.
std::string join(Target::Kind target, std::span<const Source> sources);

/// Readable forms for tools and tests.
std::string schedule_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                          const Target& target, const Options& options);
std::string kernel_text(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
                        const Target& target, const Options& options);

}  // namespace ingot::codegen
