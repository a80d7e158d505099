#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "codegen/kernel/accesses.h"
#include "codegen/kernel/plan_body.h"
#include "codegen/kernel/values.h"
#include "codegen/print/statements.h"
#include "codegen/schedule/plan_policy.h"
#include "codegen/target/prelude.h"

namespace ingot::codegen {
namespace {

constexpr size_t kCudaParameterBytes = 4096;

uint32_t cost(const ir::Graph& graph, const KernelOutline& kernel) {
  uint32_t sum = 0;
  for (const ir::NodeId id : nodes_of(graph, kernel)) {
    const ir::Node& node = graph[id];
    sum += cost_of(node.op, node.args.empty() ? node.dtype : graph[node.args[0]].dtype);
  }
  return sum;
}

/// Claims the author's names of values; a parameter's belongs to its pointer already.
AuthorNames claim_author_names(const KernelContext& context, Names& names) {
  const ir::Graph& graph = context.graph;
  AuthorNames claimed;
  for (const ir::NodeId id : nodes_of(graph, context.outline)) {
    if (graph.names(id).empty() || graph[id].op == ir::Op::Scalar) continue;
    const std::string& name = graph.names(id)[0];
    const bool is_param = graph[id].op == ir::Op::Load && graph.params[graph.access(id).source.index].name == name;
    if (!is_param) claimed[id] = names.claim(name);
  }
  return claimed;
}

/// A parameter's value is called as it is; what is computed from several, as the author called it, or s1, s2, …
std::vector<std::string> claim_scalars(const KernelContext& context, Names& names) {
  const ir::Graph& graph = context.graph;
  std::vector<std::string> claimed;
  for (const ScalarUse& use : context.outline.scalars) {
    std::string name;
    for (const ir::NodeId id : nodes_of(graph, context.outline))
      if (graph[id].op == ir::Op::Scalar && graph.host_of(id) == use.value && !graph.names(id).empty() && name.empty())
        name = graph.names(id)[0];
    const ir::HostNode& host = graph.host[use.value];
    if (host.op == ir::HostOp::Scalar) name = graph.params[host.a].name;
    claimed.push_back(names.claim(name.empty() ? fmt::format("s{}", claimed.size() + 1) : name));
  }
  return claimed;
}

void check_parameter_bytes(const KernelContext& context, const KernelPlan& plan) {
  size_t bytes = 0;
  for (const Argument& argument : plan.launch.arguments) {
    const bool pointer = argument.kind == Argument::Kind::Pointer || argument.kind == Argument::Kind::Status;
    const size_t size = pointer ? sizeof(void*) : static_cast<size_t>(ir::size_of(argument.dtype));
    bytes = (bytes + size - 1) / size * size + size;
  }
  if (bytes > kCudaParameterBytes)
    throw_author({},
                 fmt::format("too many tensors for one kernel: `{}` would take {} arguments", context.graph.name,
                             plan.launch.arguments.size()),
                 "split the op into several");
}

KernelPlan plan_kernel(const KernelContext& context) {
  KernelPlan plan;
  const uint32_t work = cost(context.graph, context.outline);
  plan.launch.entry = context.outline.name;
  Names names(reserved_text(context.target.kind));
  names.claim(plan.launch.entry);

  Accesses accesses(context, choose_lanes(context, work), names);
  const std::vector<std::string> scalars = claim_scalars(context, names);
  const AuthorNames author_names = claim_author_names(context, names);
  accesses.name_the_rest(names);

  accesses.describe_domain(plan);
  plan.launch.block_threads = context.cuda() ? block_threads() : 1;
  plan.launch.elements_per_thread = plan.lanes;
  plan.launch.weight = cpu_weight(work, static_cast<uint32_t>(accesses.count()));
  plan.begin = context.cuda() ? "" : names.claim("begin");
  plan.end = context.cuda() ? "" : names.claim("end");
  plan.arguments = context.cuda() ? "" : names.claim("arguments");
  const bool rows = !context.cuda() && plan.axes.size() > 1;
  plan.first = rows ? names.claim("first") : plan.begin;
  plan.last = rows ? names.claim("last") : plan.end;
  write_statements(context, accesses, build_values(context, accesses, scalars, author_names), names, plan);
  accesses.describe_arguments(plan, scalars);
  if (context.cuda()) check_parameter_bytes(context, plan);
  return plan;
}

}  // namespace

Plan plan(const ir::Graph& graph, const Outline& outline, const std::vector<KernelLayout>& layouts,
          const Target& target, const Options& options) {
  if (layouts.size() != outline.kernels.size()) throw_internal("a kernel without a layout");
  Plan result{target, {}};
  for (size_t k = 0; k < layouts.size(); ++k)
    result.kernels.push_back(plan_kernel({graph, outline.kernels[k], layouts[k], target, options}));
  return result;
}

}  // namespace ingot::codegen
