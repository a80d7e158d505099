#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/print/launch_comment.h"
#include "runtime/api/op_state.h"
#include "runtime/api/stages.h"
#include "runtime/cache/fork_guard.h"
#include "runtime/call/host_run.h"
#include "runtime/compile/compiler.h"

// Every stage between an op's source and its machine code, as text for people. No tensor data is touched. Programs go
// into the op's caches as for a call; kernels are neither loaded nor cached. Without a GPU, CPU or meta tensors take
// the place of CUDA tensors.

namespace ingot {

namespace {

using runtime::CallKey;

constexpr int kDefaultArchitecture = 90;

bool is_for_cuda(const CallKey& key, EmitTarget::Device device) {
  if (device == EmitTarget::Device::OfArguments) return key.device.is_cuda();
  return device == EmitTarget::Device::Cuda;
}

/// Changes the device of the key. 0-dim CPU tensors that are used as numbers beside CUDA tensors keep that role;
/// tensors that take the place of CUDA tensors stay tensors.
void set_device(CallKey& key, bool on_cuda) {
  if (key.device.is_cuda() == on_cuda) return;
  key.device = on_cuda ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  key.autocast = runtime::autocast_of(*key.definition, key.device);
}

int architecture_of(const EmitTarget& target) {
  if (target.architecture != 0) return target.architecture;
  try {
    runtime::CudaBackend& backend = runtime::cuda_backend();
    if (backend.device_count() > 0) return backend.architecture(backend.current_device());
  } catch (const Error&) {
    // A build without CUDA still shows the stages for CUDA devices.
  }
  return kDefaultArchitecture;
}

std::string ast_text(const frontend::Definition& definition) {
  std::string tree = definition.tree();
  if (tree.empty())
    throw_author(Span{}, fmt::format("{} is a C++ function: it has no syntax tree", definition.name()),
                 "its first stage is ir");
  return tree;
}

}  // namespace

ir::Graph OpState::graph(std::span<const Argument> arguments) const {
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->graph(leaves);
  const runtime::ForkGuard guard;
  CallKey key;
  runtime::make_call_key(*definition_, arguments, {}, {}, runtime::Purpose::Show, key);
  return *programs_.graph(key);
}

std::string Stages::schedule_text() const {
  return codegen::schedule_text(*graph, outline, resolved.layouts, target, options);
}

std::string Stages::kernel_text() const {
  return codegen::kernel_text(*graph, outline, resolved.layouts, target, options);
}

codegen::Source Stages::source(std::string_view op_source) const {
  const std::string compiler_options =
      target.cuda() ? runtime::Nvrtc::options(options.fast_math) : runtime::HostCompiler::options(options.fast_math);
  const bool needs_copy = std::ranges::any_of(resolved.destinations, &runtime::Destination::needs_copy);
  const codegen::DescribedCall call{
      .graph = *graph,
      .outline = outline,
      .layouts = resolved.layouts,
      .target = target,
      .host = host,
      .shapes = {resolved.params, resolved.results, resolved.workspaces},
      .geometries = resolved.geometries,
      .compiler_options = compiler_options,
      .obstacle = needs_copy ? "results are written into the arguments by copies after the kernels" : ""};
  const auto is_empty = [](const ir::SizesAndStrides& tensor) { return std::ranges::count(tensor.sizes, 0) > 0; };
  const bool launches_nothing =
      std::ranges::any_of(resolved.params, is_empty) || std::ranges::any_of(resolved.results, is_empty);
  if (launches_nothing || host.empty())
    return codegen::generate(*graph, outline, resolved.layouts, target, options, op_source);
  codegen::LaunchComments comments(call);
  return codegen::generate(*graph, outline, resolved.layouts, target, options, op_source, &comments);
}

EmitContext OpState::make_emit_context(std::span<const Argument> arguments, const EmitTarget& target) const {
  EmitContext context;
  runtime::make_call_key(*definition_, arguments, {}, {}, runtime::Purpose::Show, context.key);
  context.on_cuda = is_for_cuda(context.key, target.device);
  set_device(context.key, context.on_cuda);
  context.program = choose_program(context.key, 0).program;
  return context;
}

std::shared_ptr<const ir::Graph> OpState::graph_of(const EmitContext& context) const {
  return programs_.graph_of(context.program, context.key, {.may_scatter = runtime::has_scatter_sums(*context.program)});
}

Stages OpState::make_stages(const EmitContext& context, const EmitTarget& target) const {
  Stages stages;
  stages.program = context.program;
  stages.graph = graph_of(context);
  stages.options = codegen_options(context.on_cuda);
  stages.resolved = runtime::resolve(*context.program, context.key, stages.options);
  stages.host.resize(stages.graph->host.count());
  std::string failure;
  runtime::run_host(stages.graph->host, context.key, stages.host, failure);
  if (!failure.empty()) stages.host.clear();  // of an expression that no kernel needs
  if (context.on_cuda) stages.target = {codegen::Target::Kind::Cuda, architecture_of(target)};
  codegen::Partition made = codegen::partition(*stages.graph, stages.resolved.strategy);
  stages.graph = std::make_shared<ir::Graph>(std::move(made.graph));  // host expressions are the same
  stages.outline = std::move(made.outline);
  return stages;
}

std::string OpState::emit(Stage stage, std::span<const Argument> arguments, EmitTarget target) const {
  const runtime::ForkGuard guard;
  if (stage == Stage::Ast) return ast_text(*definition_);
  std::vector<Argument> leaves;
  if (const auto op = op_of_leaves(arguments, leaves)) return op->emit(stage, leaves, target);
  const EmitContext context = make_emit_context(arguments, target);
  if (stage == Stage::Backward || stage == Stage::BackwardSource)
    return emit_backward(*context.program, context.key, stage, target);
  if (stage == Stage::Ir) return ir::print(*graph_of(context));

  const Stages stages = make_stages(context, target);
  if (stage == Stage::Schedule) return stages.schedule_text();
  if (stage == Stage::Kernel) return stages.kernel_text();
  const codegen::Source source = stages.source(definition_->source_text());
  if (stage == Stage::Source) return source.text;
  if (!context.on_cuda)
    throw_author(Span{}, "the ptx stage exists for CUDA only, and these arguments are on the CPU",
                 "request the device cuda, or the stage source");
  return runtime::Nvrtc::compile_ptx(source.text, context.program->name + ".cu", stages.target.architecture,
                                     stages.options.fast_math);
}

}  // namespace ingot
