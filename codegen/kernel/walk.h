#pragma once

#include "codegen/kernel/kernel.h"

// Iteration over the blocks of statements of a kernel.

namespace ingot::codegen {

/// A function object that combines several lambdas, for std::visit.
template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// Calls f for each block of statements directly within a statement.
template <typename StatementOrConst, typename F>
void for_each_block(StatementOrConst& statement, F&& f)
  requires requires { statement.node; }
{
  std::visit(Overloaded{
      [&](auto& node)
        requires requires { node.body; }
                 { f(node.body); },
                 [&](auto& node)
                   requires requires { node.then; }
      { f(node.then), f(node.otherwise); },
      [](auto&) {},
  },
             statement.node);
}

/// Calls f for the outermost blocks of statements of a kernel, in the order of the source.
template <typename KernelOrConst, typename F>
void for_each_block(KernelOrConst& kernel, F&& f)
  requires requires { kernel.indices; }
{
  f(kernel.before), f(kernel.indices), f(kernel.body), f(kernel.after);
}

}  // namespace ingot::codegen
