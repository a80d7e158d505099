#pragma once

#include <string>

#include "frontend/tensor/builder.h"

namespace ingot::frontend {

/// Fails because a decision depends on the value of a tensor. For a decision in the author's source, the error has
/// `message` and `hint`. For a decision in a library function, the error is about the argument of that function.
[[noreturn]] void refuse_unknown_value(Builder& builder, std::string message, std::string hint);

}  // namespace ingot::frontend
