#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/host_run.h"

// The memory cost of training: which values a call saves for its gradient, and which values the gradient recomputes.

namespace ingot {

namespace {

using runtime::CallKey;

std::string bytes_text(int64_t bytes) {
  constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  double scaled = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; scaled >= 1024 && unit + 1 < kUnits.size(); ++unit) scaled /= 1024;
  return fmt::format("{:.1f} {}", scaled, kUnits[unit]);
}

int64_t bytes_of(ir::DType dtype, std::span<const int64_t> sizes) {
  int64_t bytes = ir::size_of(dtype);
  for (const int64_t size : sizes) bytes *= size;
  return bytes;
}

std::string line(std::string_view name, ir::DType dtype, std::span<const int64_t> sizes, std::string_view note) {
  const std::string type = fmt::format("{}[{}]", ir::short_name(dtype), fmt::join(sizes, ", "));
  std::string text = fmt::format("  {:<20} {:<24} {:>12}", name, type, bytes_text(bytes_of(dtype, sizes)));
  if (!note.empty()) text += fmt::format("   {}", note);
  return text + "\n";
}

/// The gradient's graph, with the nodes that depend on the incoming gradients. The gradient's parameters are the op's
/// own, then the incoming gradients, then the residuals.
class Recomputed {
 public:
  Recomputed(const ir::Graph& graph, const CallKey& key, size_t op_params, size_t gradients)
      : graph_(graph), host_values_(graph.host.count()) {
    std::string failure;
    runtime::run_host(graph.host, key, host_values_, failure);
    if (!failure.empty()) throw_internal(fmt::format("the gradient's sizes: {}", failure));
    depends_on_incoming_.resize(graph.count());
    for (uint32_t i = 0; i < graph.count(); ++i) {
      const ir::NodeId id{i};
      depends_on_incoming_[i] =
          std::ranges::any_of(graph[id].args, [&](ir::NodeId arg) { return depends_on_incoming_[arg.index]; });
      if (!reads_param(id)) continue;
      const uint32_t param = graph.access(id).source.index;
      depends_on_incoming_[i] = depends_on_incoming_[i] || (param >= op_params && param < op_params + gradients);
      read_params_.insert(param);
    }
    for (const ir::Result& result : graph.results)
      if (result.forwards) read_params_.insert(*result.forwards);
  }

  /// Whether the gradient reads a parameter, or returns it.
  bool reads(uint32_t param) const { return read_params_.contains(param); }

  /// The values that the gradient computes without the incoming gradients: one line per reduction, and one line for all
  /// other operations.
  std::string text() const {
    std::string lines;
    size_t other_count = 0;
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      const ir::NodeId id{i};
      if (depends_on_incoming_[i]) continue;
      if (graph_[id].op == ir::Op::Reduce)
        lines += line(name_of(id), graph_[id].dtype, sizes_of(graph_.reduction(id)), "a reduction");
      else if (ir::is_primitive(graph_[id].op) && graph_[id].op != ir::Op::Cast)
        ++other_count;
    }
    if (other_count > 0) lines += fmt::format("  {} operations, element by element\n", other_count);
    return lines;
  }

 private:
  bool reads_param(ir::NodeId id) const {
    const ir::Op op = graph_[id].op;
    return (op == ir::Op::Load || op == ir::Op::Gather) && !graph_.reduction_read(id);
  }

  std::string name_of(ir::NodeId id) const {
    const std::vector<std::string>& names = graph_.names(id);
    const std::string_view kind = ir::info(graph_.reduction(id).kind).name;
    return names.empty() ? std::string(kind) : fmt::format("{} ({})", names.front(), kind);
  }

  std::vector<int64_t> sizes_of(const ir::Reduction& reduction) const {
    std::vector<int64_t> sizes;
    for (size_t dim = 0; dim < reduction.domain.size(); ++dim)
      sizes.push_back(reduction.reduced[dim] ? 1 : host_values_[reduction.domain[dim].index].as_int());
    return sizes;
  }

  const ir::Graph& graph_;
  std::vector<ir::HostValue> host_values_;
  std::vector<bool> depends_on_incoming_;  ///< for each node
  std::set<uint32_t> read_params_;
};

}  // namespace

std::string OpState::emit_backward(const runtime::Program& forward, const CallKey& key, Stage stage,
                                   EmitTarget target) const {
  const std::span<const frontend::Parameter> parameters = definition_->parameters();
  const GradientCall call = make_gradient_call(forward, key);
  const auto& [op, arguments, placeholders, names, returned_count] = call;
  if (stage == Stage::BackwardSource) return op->emit(Stage::Source, arguments, target);
  const CallKey gradient_key = op->key_of(call, key);
  const bool sums = runtime::has_scatter_sums(*op->choose_program(gradient_key, 0).program);
  const std::shared_ptr<const ir::Graph> graph = op->programs_.graph(gradient_key, {.may_scatter = sums});
  const Recomputed recomputed(*graph, gradient_key, parameters.size(), returned_count);

  std::string text = fmt::format("the gradient of {} with respect to {}\n\nsaved for it\n", definition_->name(),
                                 fmt::join(names, ", "));
  for (uint32_t i = 0; i < key.arguments.size(); ++i)
    if (const at::Tensor* tensor = key.arguments[i].tensor)
      text += line(parameters[i].name, *runtime::dtype_of(tensor->scalar_type()), tensor->sizes(),
                   recomputed.reads(i) ? "" : "not read");
  for (size_t k = returned_count; k < placeholders.size(); ++k)
    text +=
        line(op->definition_->parameters()[parameters.size() + k].name,
             *runtime::dtype_of(placeholders[k].scalar_type()), placeholders[k].sizes(), "residual, one value per row");
  if (graph->seed) text += line("seed", ir::DType::I64, {}, "of the random numbers");
  if (const std::string lines = recomputed.text(); !lines.empty())
    text += fmt::format("\nrecomputed instead of saved\n{}", lines);
  for (size_t r = 0; r < names.size(); ++r) {
    const ir::Result& result = graph->results[r];
    if (result.forwards)
      text += fmt::format("\nthe gradient of {} is {} itself\n", names[r],
                          op->definition_->parameters()[*result.forwards].name);
    for (const ir::ScatterAdd& scatter : result.scatters)
      text += fmt::format("\nthe gradient of {} is the sum of the values {} at the positions {}\n", names[r],
                          graph->results[scatter.values].name, graph->results[scatter.positions].name);
  }
  return text;
}

}  // namespace ingot
