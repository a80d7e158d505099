#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "frontend/syntax/ast.h"

namespace ingot::frontend {

/// Which names an expression need not take as its inputs, because they mean something already; what is called is none
/// of them in any case. `has_attribute`: an attribute is taken of it (torch.relu), which tells a module from an input.
using KnownName = std::function<bool(std::string_view name, bool has_attribute)>;

/// Reads an op's text: a file of defs, imports and constants, or an expression alone (constants may stand before it),
/// which becomes a def whose parameters are its free names in order of first use. Throws Error(Author) with the place
/// for everything that Python refuses and for everything of Python that the language has not.
ast::Module parse(std::shared_ptr<const Source> source, const KnownName& is_known = {});

}  // namespace ingot::frontend
