#include <ATen/ops/empty_strided.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/dtypes.h"
#include "runtime/call/host_run.h"

// What training costs in memory: what is kept of a call for its gradient, and what the gradient computes again.

namespace ingot {

namespace {

using runtime::Facts;

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

std::string line(std::string_view what, ir::DType dtype, std::span<const int64_t> sizes, std::string_view note) {
  const std::string type = fmt::format("{}[{}]", ir::short_name(dtype), fmt::join(sizes, ", "));
  std::string text = fmt::format("  {:<20} {:<24} {:>12}", what, type, bytes_text(bytes_of(dtype, sizes)));
  if (!note.empty()) text += fmt::format("   {}", note);
  return text + "\n";
}

/// The gradient's graph, told apart by what depends on the incoming gradients, parameters behind the op's own.
class Recomputed {
 public:
  Recomputed(const ir::Graph& graph, const Facts& facts, size_t own_params, size_t gradients)
      : graph_(graph), sizes_(graph.host.count()) {
    std::string failure;
    runtime::run_host(graph.host, facts, sizes_, failure);
    if (!failure.empty()) throw_internal(fmt::format("the gradient's sizes: {}", failure));
    incoming_.resize(graph.count());
    for (uint32_t i = 0; i < graph.count(); ++i) {
      const ir::NodeId id{i};
      incoming_[i] = std::ranges::any_of(graph[id].args, [&](ir::NodeId arg) { return incoming_[arg.index]; });
      if (!reads_param(id)) continue;
      const uint32_t param = graph.access(id).source.index;
      incoming_[i] = incoming_[i] || (param >= own_params && param < own_params + gradients);
      read_.insert(param);
    }
    for (const ir::Result& result : graph.results)
      if (result.forwards) read_.insert(*result.forwards);
  }

  bool reads(uint32_t param) const { return read_.contains(param); }

  /// One line a reduction that the forward call knew, and one for all else.
  std::string text() const {
    std::string lines;
    size_t others = 0;
    for (uint32_t i = 0; i < graph_.count(); ++i) {
      const ir::NodeId id{i};
      if (incoming_[i]) continue;
      if (graph_[id].op == ir::Op::Reduce)
        lines += line(name_of(id), graph_[id].dtype, rows_of(graph_.reduction(id)), "a reduction");
      else if (ir::is_primitive(graph_[id].op) && graph_[id].op != ir::Op::Cast)
        ++others;
    }
    if (others > 0) lines += fmt::format("  {} operations, element by element\n", others);
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

  std::vector<int64_t> rows_of(const ir::Reduction& reduction) const {
    std::vector<int64_t> sizes;
    for (size_t dim = 0; dim < reduction.domain.size(); ++dim)
      sizes.push_back(reduction.reduced[dim] ? 1 : sizes_[reduction.domain[dim].index].as_int());
    return sizes;
  }

  const ir::Graph& graph_;
  std::vector<ir::HostValue> sizes_;
  std::vector<bool> incoming_;  ///< of each node, whether it is made of an incoming gradient
  std::set<uint32_t> read_;
};

/// What a gradient would be, for sizes and strides alone.
at::Tensor stand_in(const runtime::Program::Result& result, const ir::Extents& extents, c10::Device device) {
  return at::empty_strided(extents.sizes, extents.strides,
                           at::TensorOptions().dtype(runtime::scalar_type(result.dtype)).device(device));
}

/// With respect to the arguments that require grad; where none does, to all floats.
bool has_gradient(const runtime::Actual& actual, size_t param, uint64_t reached, bool some_require_grad) {
  return actual.tensor != nullptr && at::isFloatingType(actual.tensor->scalar_type()) &&
         (reached >> std::min<size_t>(param, 63) & 1) != 0 && (!some_require_grad || actual.tensor->requires_grad());
}

Argument argument_of(const runtime::Actual& actual) {
  if (actual.tensor != nullptr) return *actual.tensor;
  return actual.kind == frontend::ArgumentFact::Kind::Number ? Argument(actual.number) : Argument();
}

}  // namespace

GradientCall OpState::gradient_call(const runtime::Program& plain, const Facts& facts) const {
  const std::span<const frontend::Parameter> parameters = definition_->parameters();
  GradientCall call;
  uint64_t reached = 0;
  c10::Device device = facts.device;  // the one that stands in for it, where there is no GPU
  for (const runtime::Program::Result& result : plain.results)
    if (!result.mutates) reached |= result.gradients;
  const bool some_require_grad = std::ranges::any_of(facts.actuals, [](const runtime::Actual& actual) {
    return actual.tensor != nullptr && actual.tensor->requires_grad();
  });
  std::vector<bool> wanted;
  uint64_t asked = 0;
  for (size_t i = 0; i < facts.actuals.size(); ++i) {
    const runtime::Actual& actual = facts.actuals[i];
    if (actual.kind == frontend::ArgumentFact::Kind::Tensor) device = actual.tensor->device();
    call.arguments.push_back(argument_of(actual));
    wanted.push_back(has_gradient(actual, i, reached, some_require_grad));
    if (!wanted.back()) continue;
    call.names.push_back(parameters[i].name);
    asked |= uint64_t{1} << std::min<size_t>(i, 63);
  }
  if (call.names.empty())
    throw_author(
        Span{}, fmt::format("{}: no result has a gradient with respect to these arguments", definition_->name()),
        some_require_grad ? "none of those that require grad is reached" : "gradients are of tensors of floats");
  const std::shared_ptr<const runtime::Program> program = program_for(facts, asked).program;
  const runtime::Resolved resolved = runtime::resolve(*program, facts, codegen_options(facts.device.is_cuda()));
  call.made.reserve(program->results.size());
  for (size_t r = 0; r < program->results.size(); ++r) {
    const runtime::Program::Result& result = program->results[r];
    if (result.mutates || result.use == ir::Use::Summed) continue;
    call.made.push_back(stand_in(result, resolved.results[r], device));
    const bool is_given = result.gradients != 0 || result.is_kept();
    call.arguments.push_back(is_given ? Argument(std::as_const(call.made.back())) : Argument());
    if (!result.is_kept()) ++call.returned;
  }
  call.op =
      backward(wanted, call.returned, facts.autocast, /*returns_arguments=*/true, runtime::kept_by(*program, asked));
  return call;
}

std::string OpState::emit_backward(const runtime::Program& plain, const Facts& facts, Stage stage,
                                   EmitTarget target) const {
  const std::span<const frontend::Parameter> parameters = definition_->parameters();
  const GradientCall call = gradient_call(plain, facts);
  const auto& [op, arguments, made, names, returned] = call;
  if (stage == Stage::BackwardSource) return op->emit(Stage::Source, arguments, target);
  Facts own;
  runtime::read_facts(*op->definition_, arguments, {}, {}, runtime::Purpose::Show, own);
  own.device = facts.device, own.autocast.reset();
  const bool sums = runtime::has_sums(*op->program_for(own, 0).program);
  const std::shared_ptr<const ir::Graph> graph = op->programs_.graph(own, {.scatters = sums});
  const Recomputed recomputed(*graph, own, parameters.size(), returned);

  std::string text = fmt::format("the gradient of {} with respect to {}\n\nkept for it\n", definition_->name(),
                                 fmt::join(names, ", "));
  for (uint32_t i = 0; i < facts.actuals.size(); ++i)
    if (const at::Tensor* tensor = facts.actuals[i].tensor)
      text += line(parameters[i].name, *runtime::dtype_of(tensor->scalar_type()), tensor->sizes(),
                   recomputed.reads(i) ? "" : "which it does not read");
  for (size_t k = returned; k < made.size(); ++k)
    text += line(op->definition_->parameters()[parameters.size() + k].name, *runtime::dtype_of(made[k].scalar_type()),
                 made[k].sizes(), "of each row");
  if (graph->seed) text += line("seed", ir::DType::I64, {}, "of what is drawn");
  if (const std::string again = recomputed.text(); !again.empty())
    text += fmt::format("\ncomputed again, instead of kept\n{}", again);
  for (size_t r = 0; r < names.size(); ++r) {
    const ir::Result& result = graph->results[r];
    if (result.forwards)
      text +=
          fmt::format("\nthat of {} is {} itself\n", names[r], op->definition_->parameters()[*result.forwards].name);
    for (const ir::Scatter& scatter : result.scatters)
      text += fmt::format("\nthat of {} is what its kernels write, {}, added up at {}\n", names[r],
                          graph->results[scatter.values].name, graph->results[scatter.positions].name);
  }
  return text;
}

}  // namespace ingot
