#pragma once

#include <string>

#include "frontend/syntax/ast.h"

namespace ingot::frontend {

/// The module as a tree, the `ast` stage of `ingot emit`: a line a statement with its place, blocks indented,
/// expressions as prefix terms.
///
///   def relu_add(x, y, bias: float)                          # 1:1
///     return (+ (+ (call relu x) y) bias)                    # 2:5
std::string print(const ast::Module& module);

/// "clamp(x, min=None, max=None)".
std::string signature_text(const ast::Module& module, const ast::Function& function);

}  // namespace ingot::frontend
