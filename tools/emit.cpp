#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/op_input.h"

namespace ingot::tools {

namespace {

struct EmitInput {
  OpInput op;
  Stage stage = Stage::Source;
  EmitTarget target{EmitTarget::Device::Cpu, 0};
};

const std::map<std::string, Stage> kStages = {
    {"ast", Stage::Ast},           {"ir", Stage::Ir},
    {"schedule", Stage::Schedule}, {"kernel", Stage::Kernel},
    {"source", Stage::Source},     {"ptx", Stage::Ptx},
    {"backward", Stage::Backward}, {"backward-source", Stage::BackwardSource}};
const std::map<std::string, EmitTarget::Device> kDevices = {{"cpu", EmitTarget::Device::Cpu},
                                                            {"cuda", EmitTarget::Device::Cuda}};

}  // namespace

void add_emit(CLI::App& program, int&) {
  auto input = std::make_shared<EmitInput>();
  CLI::App* command = program.add_subcommand("emit", "Show the compilation stages of an op, without running it");
  input->op.add_to(*command);
  command
      ->add_option(
          "--stage", input->stage,
          "ast, ir, schedule, kernel, source (the default) or ptx; backward: the values that a call saves for its "
          "gradient, and the values that the gradient recomputes; backward-source: the source of the gradient's "
          "kernels")
      ->transform(CLI::Transformer(kStages))
      ->option_text("STAGE");
  command->add_option("--device", input->target.device, "cpu (the default) or cuda, which needs no GPU here")
      ->transform(CLI::Transformer(kDevices))
      ->option_text("DEVICE");
  command->add_option("--arch", input->target.architecture, "CUDA: 90 for sm_90");
  command->add_flag("--debug", input->op.debug, "include checks of gathered indices");
  command->callback([input] {
    BoundOp bound = bind_op(input->op, /*meta=*/true);
    std::string text = bound.op.emit(input->stage, bound.arguments(), input->target);
    std::fputs(text.c_str(), stdout);
    if (!text.ends_with('\n')) std::fputc('\n', stdout);
  });
}

}  // namespace ingot::tools
