#pragma once

#include <string>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails because what decides is the value of a tensor. An author is told of the text and `hint`; a caller of a library
/// function, whose text is not the author's, of the argument.
[[noreturn]] void refuse_unknown_value(Builder& builder, std::string message, std::string hint);

}  // namespace ingot::frontend
