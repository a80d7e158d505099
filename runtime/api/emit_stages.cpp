#include <fmt/format.h>

#include "base/error.h"
#include "runtime/api/op_state.h"
#include "runtime/cache/hold_forks.h"
#include "runtime/compile/compiler.h"

// Every stage between an op's text and its machine code, for a person to read. No data is touched and nothing is
// cached; where there is no GPU, CPU or meta tensors stand in for CUDA ones.

namespace ingot {

namespace {

using runtime::Facts;

constexpr int kUsualArchitecture = 90;

bool wants_cuda(const Facts& facts, EmitTarget::Device device) {
  if (device == EmitTarget::Device::OfArguments) return facts.device.is_cuda();
  return device == EmitTarget::Device::Cuda;
}

/// Beside CUDA tensors a 0-dim CPU tensor is a number; tensors that stand in for CUDA ones stay tensors.
void move_to(Facts& facts, bool cuda) {
  if (facts.device.is_cuda() == cuda) return;
  facts.device = cuda ? c10::Device(c10::kCUDA, 0) : c10::Device(c10::kCPU);
  facts.autocast = runtime::autocast_of(*facts.definition, facts.device);
}

int architecture_of(const EmitTarget& target) {
  if (target.architecture != 0) return target.architecture;
  try {
    runtime::CudaBackend& backend = runtime::cuda_backend();
    if (backend.device_count() > 0) return backend.architecture(backend.current_device());
  } catch (const Error&) {
    // A build without CUDA still shows what one with it would make.
  }
  return kUsualArchitecture;
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
  if (const auto op = structured(arguments, leaves)) return op->graph(leaves);
  const runtime::HoldForks held;
  Facts facts;
  runtime::read_facts(*definition_, arguments, {}, {}, runtime::Purpose::Show, facts);
  return *programs_.graph(facts);
}

std::string OpState::emit(Stage stage, std::span<const Argument> arguments, EmitTarget emit_target) const {
  const runtime::HoldForks held;
  if (stage == Stage::Ast) return ast_text(*definition_);
  std::vector<Argument> leaves;
  if (const auto op = structured(arguments, leaves)) return op->emit(stage, leaves, emit_target);
  Facts facts;
  runtime::read_facts(*definition_, arguments, {}, {}, runtime::Purpose::Show, facts);
  const bool cuda = wants_cuda(facts, emit_target.device);
  move_to(facts, cuda);
  const std::shared_ptr<const runtime::Program> program = program_for(facts, 0).program;
  if (stage == Stage::Backward || stage == Stage::BackwardSource)
    return emit_backward(*program, facts, stage, emit_target);
  const std::shared_ptr<const ir::Graph> graph =
      program->graph ? program->graph : programs_.graph(facts, {.scatters = runtime::has_sums(*program)});
  if (stage == Stage::Ir) return ir::print(*graph);

  const codegen::Options options = codegen_options(cuda);
  const runtime::Resolved resolved = runtime::resolve(*program, facts, options);
  codegen::Target target;
  if (cuda) target = {codegen::Target::Kind::Cuda, architecture_of(emit_target)};
  const codegen::Outline outline = codegen::outline(*graph, resolved.cut);
  if (stage == Stage::Schedule) return codegen::schedule_text(*graph, outline, resolved.layouts, target, options);
  if (stage == Stage::Kernel) return codegen::kernel_text(*graph, outline, resolved.layouts, target, options);

  const codegen::Source source = runtime::generate_source({.program = *program,
                                                           .cut = resolved.cut,
                                                           .layouts = resolved.layouts,
                                                           .target = target,
                                                           .options = options,
                                                           .graph = [&] { return graph; },
                                                           .author_text = definition_->text()});
  if (stage == Stage::Source) return source.text;
  if (!cuda)
    throw_author(Span{}, "the ptx stage is of CUDA, and these arguments are on the CPU",
                 "ask for the device cuda, or for the stage source");
  return runtime::Nvrtc::compile_ptx(source.text, program->name + ".cu", target.architecture, options.fast_math);
}

}  // namespace ingot
