#include "codegen/kernel/build.h"

#include <fmt/format.h>

#include "base/error.h"
#include "codegen/kernel/targets.h"
#include "codegen/schedule/valid.h"

namespace ingot::codegen {
namespace {

Kernel build_for_cpu(const KernelContext& context) {
  if (context.schedule.joins_short_rows()) return build_cpu_short_rows(context);
  return context.schedule.is_tile() ? build_cpu_tile(context) : build_cpu(context);
}

constexpr size_t kCudaParameterBytes = 4096;

void check_parameter_bytes(const KernelContext& context, const Kernel& kernel) {
  size_t bytes = 0;
  for (const KernelParameter& parameter : kernel.launch.parameters) {
    const auto size = static_cast<size_t>(ir::size_of(parameter.dtype));
    bytes = (bytes + size - 1) / size * size + size;
  }
  if (bytes > kCudaParameterBytes)
    throw_author(
        {},
        fmt::format("too many tensors for one kernel: `{}` would take {} arguments of {} bytes, and CUDA passes "
                    "{}; each view of a tensor has an address and strides among them",
                    context.graph.name, kernel.launch.parameters.size(), bytes, kCudaParameterBytes),
        "split the op into several, each of some of the tensors or of the slices");
}

}  // namespace

std::vector<Kernel> build(const ir::Graph& graph, const KernelOutline& outline, const KernelLayout& layout,
                          const Schedule& schedule, const Target& target, const Options& options) {
  const KernelLayout relevant = relevant_to(target, layout);
  if (const std::optional<std::string> rule = broken_rule(schedule, graph, outline, relevant, target))
    throw_internal("a schedule breaks a rule: " + *rule, print(schedule, outline));
  const KernelContext context{graph, outline, relevant, schedule, target, options};
  std::vector<Kernel> kernels;
  if (outline.reduces())
    kernels = context.cuda() ? build_cuda_reduce(context) : build_cpu_reduce(context);
  else if (!context.cuda())
    kernels.push_back(build_for_cpu(context));
  else
    kernels.push_back(schedule.is_tile() ? build_cuda_tile(context) : build_cuda(context));
  if (context.cuda())
    for (const Kernel& kernel : kernels) check_parameter_bytes(context, kernel);
  return kernels;
}

}  // namespace ingot::codegen
