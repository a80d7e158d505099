#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/generate.h"
#include "runtime/api/argument.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/call_key.h"

// The data from which stages are printed for people. No tensor data is touched.

namespace ingot {

class OpState;

/// A call's key on the device for which it is shown, and its program.
struct EmitContext {
  runtime::CallKey key;
  bool on_cuda = false;
  std::shared_ptr<const runtime::Program> program;
};

/// The data from which the stages from the graph on are printed.
struct Stages {
  std::shared_ptr<const runtime::Program> program;
  std::shared_ptr<const ir::Graph> graph;
  std::vector<ir::HostValue> host;  ///< the value of each expression of the graph's HostPool, by id; empty if some
                                    ///< expression has no value
  codegen::Options options;
  runtime::Resolved resolved;
  codegen::Target target;
  codegen::Outline outline;

  std::string schedule_text() const;
  std::string kernel_text() const;
  /// With comments that say how the kernels are launched, unless nothing is launched or `host` is empty.
  codegen::Source source(std::string_view op_source) const;
};

/// A call of the gradient. Tensors without storage replace the values that do not exist yet: the gradients with respect
/// to the results, and the residuals.
struct GradientCall {
  std::shared_ptr<const OpState> op;
  std::vector<Argument> arguments;
  std::vector<at::Tensor> placeholders;  ///< borrowed by the arguments
  std::vector<std::string_view> names;   ///< of the parameters whose gradients it computes
  size_t returned_count = 0;             ///< how many of `placeholders` are gradients with respect to returned results
};

}  // namespace ingot
