#include "runtime/records/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "runtime/cache/digest.h"
#include "runtime/records/host_ids.h"

namespace ingot::runtime {

namespace {

/// Returns the location of a span as `Diagnostic` renders it, below the message.
std::string location_text(Span span) {
  if (!span) return {};
  const std::string rendered = Diagnostic{{}, span, {}, {}}.render();
  return rendered.substr(rendered.find('\n') + 1);
}

/// Maps the ids of a pool to the ids of a smaller pool, which holds the marked nodes and their operands.
class Compaction {
 public:
  explicit Compaction(const ir::HostPool& pool) : pool_(pool) {}

  void mark(ir::HostId id) { marked_.insert(id); }

  ir::HostPool compact() {
    // Operands precede their users, so one pass in reverse order finds all needed nodes.
    for (auto id = marked_.end(); id != marked_.begin();) {
      --id;
      for (const ir::HostId arg : pool_[*id].args) marked_.insert(arg);
    }
    ir::HostPool compacted;
    for (const ir::HostId id : marked_) {
      ir::HostNode node = pool_[id];
      for (ir::HostId& arg : node.args) arg = new_ids_.at(arg);
      new_ids_[id] = compacted.append(std::move(node));
    }
    return compacted;
  }

  ir::HostId operator()(ir::HostId id) const { return new_ids_.at(id); }
  bool has(ir::HostId id) const { return new_ids_.contains(id); }

 private:
  const ir::HostPool& pool_;
  std::set<ir::HostId> marked_;
  std::map<ir::HostId, ir::HostId> new_ids_;
};

/// For each host expression of a pool, a bit mask of the number parameters on which the expression depends.
class NumberMask {
 public:
  explicit NumberMask(const ir::HostPool& pool) : masks_(pool.count()) {
    for (uint32_t i = 0; i < pool.count(); ++i) {
      const ir::HostNode& node = pool[{i}];
      if (node.op == ir::HostOp::Scalar && node.a < 64) masks_[i] = uint64_t{1} << node.a;
      for (const ir::HostId arg : node.args) masks_[i] |= masks_[arg.index];
    }
  }
  uint64_t operator()(ir::HostId id) const { return masks_[id.index]; }

 private:
  std::vector<uint64_t> masks_;
};

uint64_t numbers_in_shapes(Program& program) {
  const NumberMask mask(program.host);
  uint64_t all = 0;
  const auto add = [&](ir::HostId& id) { all |= mask(id); };
  for (codegen::KernelOutline& kernel : program.outlines.whole.kernels) {
    for (ir::HostId& id : kernel.domain) add(id);
    for (codegen::AccessUse& use : kernel.accesses) for_each_id(use.access, add);
  }
  for (Program::Result& result : program.results)
    for (ir::HostId& id : result.shape) add(id);
  for (ir::LayoutStep& step : program.layout_steps) for_each_id(step, add);
  return all;
}

/// Rejects mutated parameters past the 64th: a call's key has one bit for each of the first 64.
void check_mutated(const ir::Graph& graph) {
  for (const ir::Result& result : graph.results)
    if (result.mutates.value_or(0) >= 64)
      throw_author(Span{},
                   fmt::format("{}: `{}` is written in place, and it is parameter {} of the op", graph.name,
                               graph.params[*result.mutates].name, *result.mutates + 1),
                   "only the first 64 parameters can be: move it to the front");
}

}  // namespace

frontend::Residuals residuals_of(const Program& program, uint64_t gradients) {
  frontend::Residuals residuals{.gradients = gradients, .names = {}};
  for (const Program::Result& result : program.results)
    if (result.is_residual()) residuals.names.push_back(result.name);
  return residuals;
}

bool has_scatter_sums(const Program& program) {
  return std::ranges::any_of(program.results, [](const Program::Result& result) { return !result.scatters.empty(); });
}

uint64_t read_params(const Program& program) {
  uint64_t params = 0;
  for (const Program::Result& result : program.results) params |= result.reads;
  return params;
}

uint64_t differentiable_params(const Program& program) {
  uint64_t params = 0;
  for (const Program::Result& result : program.results)
    if (!result.mutates) params |= result.gradients;
  return params;
}

uint64_t written_params(const Program& program) {
  uint64_t params = 0;
  for (const Program::Result& result : program.results)
    if (result.mutates) params |= uint64_t{1} << *result.mutates;
  return params;
}

namespace {

/// The parameters on which each node depends, including through reductions and indices; bit masks like
/// Program::Result::reads.
std::vector<uint64_t> params_read_by_nodes(const ir::Graph& graph) {
  std::vector<uint64_t> reads(graph.count());
  for (uint32_t i = 0; i < graph.count(); ++i) {
    const ir::NodeId id{i};
    for (const ir::NodeId arg : graph[id].args) reads[i] |= reads[arg.index];
    const bool is_read = graph[id].op == ir::Op::Load || graph[id].op == ir::Op::Gather;
    if (is_read && !graph.reduction_read(id)) reads[i] |= ir::gradient_bit(graph.access(id).source.index);
  }
  return reads;
}

}  // namespace

Program make_program(std::shared_ptr<const ir::Graph> graph) {
  check_mutated(*graph);
  Program program;
  program.name = graph->name;
  program.outlines = codegen::outlines(*graph);
  for (const ir::Condition& condition : graph->conditions) {
    Program::Check& check = program.checks.emplace_back(Program::Check{condition, location_text(condition.span)});
    check.condition.span = {};
  }
  const std::vector<uint64_t> reads = params_read_by_nodes(*graph);
  for (const ir::Result& result : graph->results) {
    uint64_t result_reads = 0;
    for (const ir::OutputBlock& block : result.blocks) result_reads |= reads[block.node.index];
    if (result.forwards) result_reads |= ir::gradient_bit(*result.forwards);
    program.results.push_back({result.name, result.dtype, result.shape, result.layout, result.mutates, result.forwards,
                               result.gradients, result_reads, result.use, result.scatters, result.addend});
  }
  for (Program::Result& result : program.results) {
    for (const ir::ScatterAdd& scatter : result.scatters)
      result.reads |= program.results[scatter.values].reads | program.results[scatter.positions].reads;
    if (result.addend) result.reads |= program.results[*result.addend].reads;
  }
  program.returns = graph->returns;
  program.layout_steps = graph->eager_layouts;
  for (const ir::RequiredView& view : graph->required_views)
    program.required_views.push_back({view.step, location_text(view.span)});
  program.may_have_other_layouts = std::ranges::any_of(program.layout_steps, [](const ir::LayoutStep& step) {
    using Kind = ir::LayoutStep::Kind;
    return step.kind == Kind::View || step.kind == Kind::ChannelsLast || step.kind == Kind::Gather;
  });

  Compaction compaction(graph->host);
  for_each_id(program, [&](ir::HostId& id) { compaction.mark(id); });
  program.host = compaction.compact();
  for_each_id(program, [&](ir::HostId& id) { id = compaction(id); });
  for (const auto& [id, span] : graph->host_locations)
    if (compaction.has(id)) program.host_locations.push_back({compaction(id), location_text(span)});

  program.numbers_in_shapes = numbers_in_shapes(program);
  program.uses_random = graph->seed.has_value();
  program.digest = Digest::of(ir::print(*graph)).hex();
  program.graph = std::move(graph);
  return program;
}

}  // namespace ingot::runtime
