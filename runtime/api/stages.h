#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/generate.h"
#include "runtime/api/argument.h"
#include "runtime/call/bound_call.h"
#include "runtime/call/call_key.h"

// What the stages that are shown to a person are made of. No data is touched and nothing is cached.

namespace ingot {

class OpState;

/// A call's facts on the device for which it is shown, and its program.
struct Shown {
  runtime::CallKey key;
  bool on_cuda = false;
  std::shared_ptr<const runtime::Program> program;
};

/// What the stages from the graph on are printed from.
struct Stages {
  std::shared_ptr<const runtime::Program> program;
  std::shared_ptr<const ir::Graph> graph;
  codegen::Options options;
  runtime::Resolved resolved;
  codegen::Target target;
  codegen::Outline outline;

  std::string schedule_text() const;
  std::string kernel_text() const;
  codegen::Source source(std::string_view author_text) const;
};

/// A call of the gradient, with stand-ins for what it is given: the gradients with respect to the results, and what was
/// kept.
struct GradientCall {
  std::shared_ptr<const OpState> op;
  std::vector<Argument> arguments;
  std::vector<at::Tensor> made;         ///< which arguments borrow
  std::vector<std::string_view> names;  ///< of the parameters whose gradients it gives
  size_t returned = 0;                  ///< how many of `made` stand for gradients with respect to what is returned
};

}  // namespace ingot
