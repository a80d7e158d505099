#pragma once

#include <string>

#include "frontend/syntax/ast.h"

namespace ingot::frontend {

/// The module as a tree, for the `ast` stage of `ingot emit`: one line per statement with its location, indented
/// blocks, and expressions as prefix terms.
///
///   def relu_add(x, y, bias: float)                          # 1:1
///     return (+ (+ (call relu x) y) bias)                    # 2:5
std::string print(const ast::Module& module);

/// A function's name and parameters: "clamp(x, min=None, max=None)".
std::string signature_text(const ast::Module& module, const ast::Function& function);

}  // namespace ingot::frontend
