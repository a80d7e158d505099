#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "frontend/syntax/ast.h"

namespace ingot::frontend {

/// Decides which free names of an expression already have a meaning and are not parameters. Called names are never
/// parameters. `has_attribute`: the expression takes an attribute of the name (torch.relu, x.mT); the name then counts
/// as known only if it is a module.
using IsKnownName = std::function<bool(std::string_view name, bool has_attribute)>;

/// Parses an op's source: a file of defs, imports and module-level assignments, or a single expression, which
/// module-level assignments may precede. The expression becomes a def whose parameters are its free names in order of
/// first use. Throws Error(Author) with the location for input that Python rejects and for Python syntax outside the
/// language.
ast::Module parse(std::shared_ptr<const Source> source, const IsKnownName& is_known = {});

}  // namespace ingot::frontend
